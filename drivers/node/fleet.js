// All connections of a job: opened and proved, warmed up, and set to work for one slice after the other.

import { setTimeout as sleep } from "node:timers/promises";

import { failureOf, Failure } from "./failure.js";
import { Recorder } from "./recorder.js";
import { isSteady } from "./steady.js";
import { Supply } from "./supply.js";
import { compile } from "./template.js";
import { Terms } from "./terms.js";
import { countsOf, cpuTime, Window } from "./window.js";
import { Worker } from "./worker.js";

const SLICE_MS = 100;
const FAILURES_IN_A_ROW = 100;

export class Fleet {
  /** `say` writes an event, `end` a fatal failure, after which nothing follows. */
  constructor(job, adapter, name, say, end) {
    Object.assign(this, { job, adapter, name, say, end });
    this.program = compile(job.workload);
    this.supply = new Supply(this.program.sequences);
    this.terms = new Terms(job, adapter, name);
    this.workers = Array.from({ length: job.connections }, (_, place) => new Worker(this, place));
    Object.assign(this, { opened: 0, answers: 0, operations: 0, failures: 0, inARow: 0 });
    this.recorder = new Recorder();
    this.window = new Window(this);
    this.told = new Set();
    this.samples = [];
  }

  /** What the driver is told; the first time it is noted what it looks at. */
  words() {
    return this.opened ? this.terms.said : this.terms.watched();
  }

  /** All that comes before `ready`; afterwards nothing is in flight, and no timer runs. */
  async prepare() {
    const watching = this.watch();
    const negotiated = await this.open();
    const { warmup, steady } = await this.warmUp();
    clearInterval(watching);
    this.recorder.clear();
    this.supply.limit(this.job.operations);
    return { negotiated, warmup, steady };
  }

  /** Opens each worker's connection and asks on it what was negotiated; with reconnect, closes them again. */
  async open() {
    const groups = new Map();
    for (const worker of this.workers) {
      await worker.open();
      this.terms.checkOptions();
      const seen = await this.ask(worker.connection);
      const key = JSON.stringify(seen);
      groups.set(key, { connections: (groups.get(key)?.connections ?? 0) + 1, ...seen });
    }
    await this.sample(this.workers[0]);
    if (this.job.workload.reconnect) await this.close();
    return [...groups.values()];
  }

  /** What the server and the runtime say of this very connection. */
  async ask(connection) {
    this.version ??= (await this.rows(connection, "SELECT VERSION()"))[0][0];
    const status = Object.fromEntries(await this.rows(connection, "SHOW SESSION STATUS LIKE 'Ssl%'"));
    const resumed = this.version.includes("MariaDB") ? null : Number(status.Ssl_sessions_reused) > 0;
    const server = status.Ssl_cipher ? {
      version: status.Ssl_version, cipher: status.Ssl_cipher, resumed,
      group: null, hello_retry: null, certificate_key: null, certificate_sha256: null,
    } : null;
    const client = this.adapter.tlsView(connection);
    return { client: client ?? null, server, client_tells: client !== undefined };
  }

  rows(connection, sql) {
    return this.adapter.text(connection, sql, { rowsAsArray: true });
  }

  /** Answers for the laboratory to check, asked before the warm-up: rows as arrays take code of their own. */
  async sample(worker) {
    if (!this.program.selects) return;
    this.supply.start(Infinity);
    while (this.samples.length < this.job.row_samples && this.supply.reserve(worker.numbers)) {
      for (const template of this.program.templates) {
        if (this.samples.length < this.job.row_samples) this.samples.push(await worker.sample(template));
      }
    }
    this.supply.stop();
  }

  /** All workers at work, until no more operations may be started. */
  work(untilMs) {
    this.supply.start(untilMs);
    return Promise.all(this.workers.map((worker) => worker.work(this.recorder)));
  }

  /** Works for warmup_s, or in slices until steady, steady_within_s at most. Then nothing is in flight. */
  async warmUp() {
    const { warmup_s: warmupS, driver: { steady_within_s: withinS } } = this.job;
    if (withinS <= 0 && warmupS <= 0) return { warmup: [], steady: null };
    const working = this.work(Infinity);
    if (withinS <= 0) {
      await sleep(warmupS * 1000);
      this.supply.stop();
      await working;
      return { warmup: [], steady: null };
    }
    const warmup = [];
    const began = performance.now();
    let [operations, cpu] = [this.operations, cpuTime()];
    while (!isSteady(warmup) && performance.now() - began < withinS * 1000 && !this.supply.stopped) {
      await sleep(SLICE_MS);
      const used = cpuTime(cpu);
      warmup.push({
        elapsed_s: (performance.now() - began) / 1000, operations: this.operations - operations,
        cpu_us: used.total_us,
      });
      [operations, cpu] = [this.operations, cpuTime()];
    }
    this.supply.stop();
    await working;
    return { warmup, steady: isSteady(warmup) };
  }

  /** One slice: what is started within its length is finished, and what was done is counted. */
  async slice(lengthS) {
    const { window } = this;
    window.begin();
    const working = this.work(window.beganMs + lengthS * 1000);
    const timers = [this.watch(), this.tell()];
    await working;
    const counted = window.end(lengthS);
    timers.forEach(clearInterval);
    return counted;
  }

  /** The result of all slices. */
  result() {
    const { window, recorder } = this;
    return {
      event: "done", elapsed_s: window.elapsedS, operations: window.operations,
      scheduled: recorder.started, skipped: 0, window: countsOf(window.opened),
      lifetime: countsOf(this.opened),
      histograms_ns: recorder.encoded(), cpu: window.cpu, threads_cpu_us: [], wire: null,
      errors: [...recorder.failures.values()], row_samples: this.samples, overhead: null, reported_s: {},
      rounds_s: [], phase_wire: {},
    };
  }

  /** Says once a second what was finished since it last did. */
  tell() {
    let [operations, failures] = [this.operations, this.failures];
    return setInterval(() => {
      this.say({
        event: "interval", elapsed_s: this.window.passedS(),
        operations: this.operations - operations, errors: this.failures - failures,
      });
      [operations, failures] = [this.operations, this.failures];
    }, 1000);
  }

  succeeded() {
    this.operations += 1;
    this.inARow = 0;
  }

  /** Tells a failure the first time that it is met; a hundred in a row end the job. */
  failed(failure) {
    this.failures += 1;
    this.inARow += 1;
    if (this.inARow >= FAILURES_IN_A_ROW) this.end(failure);
    const key = `${failure.kind} ${failure.code}`;
    if (!this.told.has(key)) this.say(failure.event(false));
    this.told.add(key);
  }

  async close() {
    for (const worker of this.workers) await worker.close();
  }

  /**
   * Ends the job when nothing was answered for timeout_s, until the timer that this returns is cleared. The
   * driver is told no time limit: what it has of its own is its default.
   */
  watch() {
    const patienceMs = this.job.timeout_s * 1000;
    let [last, since] = [-1, performance.now()];
    return setInterval(() => {
      const now = this.answers + this.failures;
      if (now !== last) [last, since] = [now, performance.now()];
      else if (performance.now() - since > patienceMs) {
        this.end(new Failure("timeout", `the server said nothing for ${this.job.timeout_s} s`));
      }
    }, Math.max(patienceMs / 8, 1));
  }

  /** A driver's error as the contract has it. */
  failureOf(error) {
    return failureOf(error, this.opened === 0, this.name);
  }
}
