export { drawAscii } from "./ascii.ts";
export {
  activeStates,
  type Box,
  type ChartLayout,
  type LaidEdge,
  type LaidState,
  type LineKind,
  type Point,
  type StateKind,
  type StateLine,
  type StateValue,
  type Way,
} from "./layout.ts";
export { drawChart, PADDING } from "./svg.ts";
