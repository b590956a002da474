import type { InvocationContext, SelectedContext } from "@chartroom/protocols/agent/v1/selected_context";
import { directoryTree } from "./directory-tree.ts";

type Note = readonly [label: string, content: string];

/** The attachments that are text of their own kind, as label and content. Empty ones are left out. */
export function attachmentNotes(selected: SelectedContext): readonly Note[] {
  const notes: Note[] = [
    ...selected.folders.map((folder): Note => [
      `Folder ${folder.path}`,
      folder.directoryTree === undefined ? folder.path : directoryTree(folder.directoryTree),
    ]),
    ...selected.terminals.map((entry): Note => [`Terminal ${entry.title ?? entry.path ?? ""}`, entry.content]),
    ...selected.terminalSelections.map((entry): Note => [
      `Terminal selection ${entry.title ?? entry.path ?? ""}`,
      entry.content,
    ]),
    ...selected.externalLinks.map((link): Note => [`Link ${link.url}`, link.pdfContent ?? link.url]),
    ...selected.cursorRules.map(({ rule }): Note => [`Rule ${rule?.fullPath ?? ""}`, rule?.content ?? ""]),
    ...selected.cursorCommands.map((command): Note => [
      `Command ${command.displayName ?? command.name}`,
      command.content,
    ]),
    ...selected.documentations.map((docs): Note => ["Documentation", docs.name]),
    ...selected.uiElements.map((element): Note => [
      "Page element",
      joined(
        element.element,
        element.xpath,
        element.textContent,
        element.component,
        element.componentPropsJson,
        element.extra,
      ),
    ]),
    ...selected.consoleLogs.map((log): Note => [
      "Console",
      joined(`${log.level}: ${log.message}`, log.objectDataJson, log.stackTrace?.rawStackTrace),
    ]),
    ...selected.gitCommits.map((commit): Note => [
      `Commit ${commit.sha}`,
      joined(commit.message, commit.description, commit.diff),
    ]),
    ["Changes in the working tree", selected.gitDiff?.content ?? ""],
    ["Changes against the main branch", selected.gitDiffFromBranchToMain?.content ?? ""],
    ...selected.gitPrDiffSelections.map((diff): Note => [
      `Pull request ${diff.prUrl}, ${diff.filePath} lines ${diff.startLine} to ${diff.endLine}`,
      diff.diffContent ?? "",
    ]),
    ...selected.selectedPullRequests.map((pull): Note => [
      `Pull request ${pull.url}`,
      joined(pull.title, pull.description, pull.summaryJson),
    ]),
    ...selected.pastChats.map((chat): Note => ["Earlier chat", chat.name]),
    ...selected.selectedSubagents.map((subagent): Note => ["Subagent", subagent.name]),
    ...selected.selectedBrowsers.map((browser): Note => ["Browser tab", joined(browser.pageTitle, browser.url)]),
    ...selected.selectedDocuments.map((document): Note => [
      "Document",
      document.path === "" ? document.filename : document.path,
    ]),
    ...selected.selectedVideos.map((video): Note => ["Video", video.path === "" ? video.filename : video.path]),
    ...selected.selectedSkills.map((skill): Note => [
      `Skill ${skill.fullPath}`,
      joined(skill.description, skill.content),
    ]),
    ...(selected.recentAgentsContext?.recentAgents ?? []).map((agent): Note => [
      "Recent agent",
      joined(agent.name, agent.path, agent.overview),
    ]),
    ...invocation(selected.invocationContext),
    ...selected.extraContext.map((content): Note => ["Context", content]),
    ...selected.extraContextEntries.map(({ dataOrBlobId }): Note => [
      "Context",
      dataOrBlobId.case === "data" ? dataOrBlobId.value : "",
    ]),
  ];
  return notes.filter(([, content]) => content !== "").map(([label, content]) => [label.trim(), content]);
}

/** From where the message was sent: the editor's files, or a discussion elsewhere. */
function invocation(context: InvocationContext | undefined): readonly Note[] {
  const data = context?.data;
  switch (data?.case) {
    case "ideState": {
      return [
        ["Files open in the editor", paths(data.value.visibleFiles)],
        ["Files viewed recently", paths(data.value.recentlyViewedFiles)],
      ];
    }
    case "githubPr":
      return [
        ["Pull request", joined(data.value.title, data.value.description, data.value.comments, data.value.ciFailures)],
      ];
    case "slackThread":
      return [["Slack thread", data.value.thread]];
    case "microsoftTeamsThread":
      return [["Teams thread", data.value.thread]];
    default:
      // a discussion that is only named by a blob id is not at hand
      return [];
  }
}

function paths(files: readonly { readonly path: string }[]): string {
  return files.map((file) => file.path).join("\n");
}

function joined(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join("\n");
}
