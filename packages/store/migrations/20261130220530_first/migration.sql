CREATE TABLE "conversation" (
	"id" text PRIMARY KEY,
	"owner_member" text NOT NULL,
	"fence" bigint NOT NULL,
	"owner_node" text,
	"write_seq" bigint DEFAULT 0 NOT NULL,
	"machine" text,
	"version" integer,
	"state" jsonb,
	"head" text,
	"inbox_seq" bigint DEFAULT 0 NOT NULL,
	"deadline" bigint,
	"parent_conversation_id" text,
	"parent_run_id" text,
	"parent_tool_call_id" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "conversation_parent_whole" CHECK (num_nulls("parent_conversation_id", "parent_run_id", "parent_tool_call_id") in (0, 3))
);
--> statement-breakpoint
CREATE TABLE "node" (
	"id" text PRIMARY KEY,
	"lease_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "blob" (
	"member" text,
	"id" text,
	"data" bytea NOT NULL,
	CONSTRAINT "blob_pkey" PRIMARY KEY("member","id")
);
--> statement-breakpoint
CREATE TABLE "checkpoint" (
	"conversation_id" text,
	"id" text,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "checkpoint_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"parent" text,
	"run_id" text,
	"added" json NOT NULL,
	"length" integer NOT NULL,
	"summary_id" text,
	"kept_from" text,
	"wire_state" bytea,
	"delivered" boolean NOT NULL,
	CONSTRAINT "checkpoint_pkey" PRIMARY KEY("conversation_id","id")
);
--> statement-breakpoint
CREATE TABLE "input_anchor" (
	"conversation_id" text,
	"input_id" text NOT NULL,
	"event" text NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "input_anchor_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"base" text,
	CONSTRAINT "input_anchor_pkey" PRIMARY KEY("conversation_id","seq")
);
--> statement-breakpoint
CREATE TABLE "message" (
	"conversation_id" text,
	"id" text,
	"role" text NOT NULL,
	"origin" text NOT NULL,
	"content" json NOT NULL,
	"display" bytea,
	"event" text,
	"run_id" text,
	CONSTRAINT "message_pkey" PRIMARY KEY("conversation_id","id")
);
--> statement-breakpoint
CREATE TABLE "applied" (
	"conversation_id" text,
	"key" text,
	"seq" bigint NOT NULL,
	"state" text NOT NULL,
	CONSTRAINT "applied_pkey" PRIMARY KEY("key","conversation_id")
);
--> statement-breakpoint
CREATE TABLE "inbox" (
	"conversation_id" text,
	"seq" bigint,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"body" bytea NOT NULL,
	"run_id" text,
	"request_id" text NOT NULL,
	"generation" integer NOT NULL,
	CONSTRAINT "inbox_pkey" PRIMARY KEY("conversation_id","seq")
);
--> statement-breakpoint
CREATE TABLE "request_binding" (
	"member" text,
	"request_id" text,
	"conversation_id" text NOT NULL,
	"generation" integer NOT NULL,
	CONSTRAINT "request_binding_pkey" PRIMARY KEY("member","request_id")
);
--> statement-breakpoint
CREATE TABLE "lifecycle_event" (
	"conversation_id" text,
	"fence" bigint,
	"seq" bigint,
	"run_id" text,
	"event" json NOT NULL,
	"from_state" json NOT NULL,
	"to_state" json NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "lifecycle_event_pkey" PRIMARY KEY("conversation_id","fence","seq")
);
--> statement-breakpoint
CREATE TABLE "model_call" (
	"conversation_id" text,
	"model_call_id" text,
	"run_id" text NOT NULL,
	"step" integer NOT NULL,
	"model_id" text NOT NULL,
	"usage" json NOT NULL,
	"started_at" bigint NOT NULL,
	"ended_at" bigint NOT NULL,
	"outcome" text NOT NULL,
	"failure_code" text,
	"prefix" json,
	CONSTRAINT "model_call_pkey" PRIMARY KEY("conversation_id","model_call_id")
);
--> statement-breakpoint
CREATE TABLE "run" (
	"run_id" text PRIMARY KEY,
	"conversation_id" text NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "run_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"status" text NOT NULL,
	"failure_code" text,
	"message_id" text,
	"wire_run_ids" json NOT NULL,
	"agent_session_id" text,
	"request_id" text NOT NULL,
	"generation" integer NOT NULL,
	"trace_id" text NOT NULL,
	"model_id" text NOT NULL,
	"park_deadline" bigint,
	"accepted_at" bigint NOT NULL,
	"ended_at" bigint,
	"delivered" boolean NOT NULL,
	"request" bytea NOT NULL,
	"base_head" text,
	"final_head" text
);
--> statement-breakpoint
CREATE TABLE "tool_call" (
	"conversation_id" text,
	"call_id" text,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "tool_call_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"run_id" text NOT NULL,
	"step" integer NOT NULL,
	"model_call_id" text NOT NULL,
	"provider_id" text NOT NULL,
	"record" json NOT NULL,
	"status" text NOT NULL,
	"deadline" bigint NOT NULL,
	"result" json,
	"display" bytea,
	CONSTRAINT "tool_call_pkey" PRIMARY KEY("call_id","conversation_id")
);
--> statement-breakpoint
CREATE TABLE "trace" (
	"trace_id" text PRIMARY KEY,
	"conversation_id" text NOT NULL,
	"run_id" text NOT NULL,
	"attributes" jsonb NOT NULL
);
--> statement-breakpoint
CREATE INDEX "conversation_deadline" ON "conversation" ("deadline") WHERE "deadline" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "input_anchor_once" ON "input_anchor" ("conversation_id","input_id","event",coalesce("base", ''));--> statement-breakpoint
CREATE INDEX "run_open" ON "run" ("conversation_id","seq") WHERE "status" in ('waiting', 'running');--> statement-breakpoint
CREATE INDEX "run_ended" ON "run" ("conversation_id","ended_at" DESC NULLS LAST,"seq" DESC NULLS LAST) WHERE "status" not in ('waiting', 'running');--> statement-breakpoint
CREATE INDEX "run_request" ON "run" ("request_id","generation");--> statement-breakpoint
CREATE INDEX "run_message" ON "run" ("message_id","seq") WHERE "message_id" is not null;--> statement-breakpoint
CREATE INDEX "run_park" ON "run" ("park_deadline") WHERE "park_deadline" is not null and "status" in ('waiting', 'running');--> statement-breakpoint
CREATE INDEX "tool_call_run" ON "tool_call" ("run_id","seq");