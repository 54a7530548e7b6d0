// Every text that a person reads on a screen, by key.  Components hold none: another language is another table of this shape.
//
//     import { say } from "./strings";
//     html`<button title=${say.graph.find}>${say.graph.groups(3)}</button>`
//
// A text with values in it is a function; a sentence is one text, never put together from parts.
// What is said where there is no screen yet stands apart, in ./page.

import { candidates } from "./candidates";
import { changes } from "./changes";
import { checks } from "./checks";
import { common } from "./common";
import { exercise } from "./exercise";
import { frame } from "./frame";
import { frame_a } from "./frame_a";
import { graph } from "./graph";
import { lens } from "./lens";
import { reasons } from "./reasons";
import { schedule } from "./schedule";
import { steps } from "./steps";
import { values } from "./values";

const english = { candidates, changes, checks, common, exercise, frame, frame_a, graph, lens, reasons, schedule, steps, values };

export type Strings = typeof english;

export const say: Strings = english;
