// What is written down of the window: latencies and failures.

import { build, encodeIntoCompressedBase64 } from "hdr-histogram-js";

const LONGEST_NS = 600_000_000_000;

/** Histograms by the contract's phases, each made when its first value comes; failures by kind and code. */
export class Recorder {
  constructor() {
    this.histograms = {};
    this.clear();
  }

  /** Forgets the warm-up. The histograms stay, as making them would take its time in the first slice. */
  clear() {
    this.started = 0;
    this.latencyNs = 0;
    this.failures = new Map();
    for (const one of Object.values(this.histograms)) one.reset();
  }

  /** Notes the time of an operation that succeeded, in nanoseconds (a BigInt). */
  succeed(ns) {
    this.latencyNs += Number(ns);
    this.record("operation", ns);
  }

  /** Notes a time in nanoseconds (a BigInt) for a phase. */
  record(phase, ns) {
    this.histograms[phase] ??= build({
      lowestDiscernibleValue: 1, highestTrackableValue: LONGEST_NS, numberOfSignificantValueDigits: 3,
      bitBucketSize: 32, useWebAssembly: false,
    });
    this.histograms[phase].recordValue(Math.min(Math.max(Number(ns), 1), LONGEST_NS));
  }

  fail({ kind, code }) {
    const key = `${kind} ${code}`;
    const noted = this.failures.get(key) ?? { kind, code, count: 0 };
    noted.count += 1;
    this.failures.set(key, noted);
  }

  /** In HdrHistogram's V2 encoding, deflated, in base64. */
  encoded() {
    const encode = ([phase, one]) => [phase, encodeIntoCompressedBase64(one)];
    const met = Object.entries(this.histograms).filter(([, one]) => one.totalCount > 0);
    return Object.fromEntries(met.map(encode));
  }
}
