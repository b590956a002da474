CREATE TABLE "run_claim" (
	"conversation_id" text,
	"request_id" text,
	"generation" integer,
	"run_id" text NOT NULL,
	CONSTRAINT "run_claim_pkey" PRIMARY KEY("request_id","generation","conversation_id")
);
