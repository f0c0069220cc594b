// The laboratory's end of standard input: `go` with the length of a slice, and `end`.

import { Failure } from "./failure.js";

/** No time in the contract is longer than a year. */
const LONGEST_S = 365 * 24 * 3600;

/**
 * What a line asks for: `go` with the length of a slice in seconds, or `end`; null where it is neither. A length
 * that is none is a bad_job.
 */
export function orderOf(line) {
  const [word, ...rest] = line.trim().split(/\s+/);
  if (word === "end" && rest.length === 0) return { word };
  if (word !== "go") return null;
  const lengthS = rest.length === 1 ? Number(rest[0]) : NaN;
  if (lengthS > 0 && lengthS <= LONGEST_S) return { word, lengthS };
  throw new Failure("bad_job", `go needs the length of a slice in seconds, a year at most: ${line.trim()}`);
}

/** Orders are taken in as they come, and handed out one after the other. */
export class Laboratory {
  /** `left` is called when standard input ends before `over` is waited for. */
  constructor(input, left) {
    this.orders = [];
    this.wake = null;
    this.text = "";
    this.ended = new Promise((resolve) => {
      this.leave = left;
      input.on("end", () => { this.leave(); resolve(); });
    });
    input.setEncoding("utf8");
    input.on("data", (text) => this.take(text));
  }

  take(text) {
    const lines = (this.text + text).split("\n");
    this.text = lines.pop();
    for (const line of lines) {
      const order = read(line);
      if (order && this.wake) {
        this.wake(order);
        this.wake = null;
      } else if (order) {
        this.orders.push(order);
      }
    }
  }

  /** The next order; a length that is none is thrown where it is waited for. */
  async order() {
    const order = this.orders.shift() ?? await new Promise((resolve) => { this.wake = resolve; });
    if (order instanceof Failure) throw order;
    return order;
  }

  /** Waits for the end of standard input, which from now on is in order. */
  over() {
    this.leave = () => {};
    return this.ended;
  }
}

function read(line) {
  try {
    return orderOf(line);
  } catch (failure) {
    return failure;
  }
}
