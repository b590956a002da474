export { createTools } from "./port.ts";
