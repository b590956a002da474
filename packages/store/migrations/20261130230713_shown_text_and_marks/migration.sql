ALTER TABLE "model_call" ADD COLUMN "seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "model_call_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1);--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "purpose" text;--> statement-breakpoint
ALTER TABLE "model_call" ADD COLUMN "mark" json;--> statement-breakpoint
ALTER TABLE "run" ADD COLUMN "partial" json;--> statement-breakpoint
CREATE INDEX "model_call_marked" ON "model_call" ("conversation_id","seq") WHERE "mark" is not null;