import type { AskQuestionArgs, AskQuestionResult } from "@chartroom/protocols/agent/v1/tool_question";

/** What the user answered to the questions of a call, as text for the model: a line of question and answer each. */
export function answerText(args: AskQuestionArgs | undefined, result: AskQuestionResult | undefined): string {
  const outcome = result?.result;
  switch (outcome?.case) {
    case "success": {
      const answers = outcome.value.answers.map((answer) => {
        const question = args?.questions.find((each) => each.id === answer.questionId);
        const labels = answer.selectedOptionIds.map(
          (id) => question?.options.find((option) => option.id === id)?.label ?? id,
        );
        const parts = answer.freeformText === "" ? labels : [...labels, answer.freeformText];
        return `${question?.prompt ?? answer.questionId}: ${parts.length === 0 ? "(no answer)" : parts.join(", ")}`;
      });
      return answers.length === 0 ? "The user gave no answer." : answers.join("\n");
    }
    case "error":
      return `The question failed: ${outcome.value.errorMessage}`;
    case "rejected":
      return outcome.value.reason === ""
        ? "The user declined to answer."
        : `The user declined to answer: ${outcome.value.reason}`;
    default:
      return "The user gave no answer.";
  }
}
