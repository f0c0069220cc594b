// One connection's work: operations one after the other, timed, on a connection that is kept or opened anew.

import { failureOf } from "./failure.js";
import { randomFrom } from "./template.js";

const clock = process.hrtime.bigint;

export class Worker {
  constructor(fleet, place) {
    this.fleet = fleet;
    this.random = randomFrom(Number(BigInt(fleet.job.seed) & 0xffffffffn) ^ Math.imul(place + 1, 0x9e3779b1));
    this.numbers = [];
    this.connection = null;
    this.fresh = false;
  }

  /** Opens the connection and says what is said on connecting; answers how long the driver's part took. */
  async open() {
    const { fleet } = this;
    const began = clock();
    try {
      this.connection = await fleet.adapter.open(fleet.words());
    } catch (error) {
      throw failureOf(error, true, fleet.name);
    }
    const took = clock() - began;
    this.fresh = true;
    fleet.opened += 1;
    fleet.answers += 1;
    for (const sql of fleet.job.workload.on_connect) await fleet.adapter.text(this.connection, sql);
    return took;
  }

  async close() {
    const { connection } = this;
    this.connection = null;
    if (connection) await this.fleet.adapter.close(connection);
  }

  /** Gives a connection up whose state is not known. */
  drop() {
    if (this.connection) this.fleet.adapter.drop(this.connection);
    this.connection = null;
  }

  /** Does operations until no more may be started. */
  async work(recorder) {
    const { fleet } = this;
    while (fleet.supply.reserve(this.numbers)) {
      recorder.started += 1;
      const began = clock();
      try {
        await this.operation(recorder);
      } catch (error) {
        const failure = failureOf(error, false, fleet.name);
        if (failure.losesConnection || fleet.job.workload.reconnect) this.drop();
        recorder.fail(failure);
        fleet.failed(failure);
        continue;
      }
      recorder.succeed(clock() - began);
      fleet.succeeded();
    }
  }

  /** All statements once. With reconnect, on a connection that is opened and closed for them. */
  async operation(recorder) {
    const { workload } = this.fleet.job;
    if (!this.connection) {
      const took = await this.open();
      if (workload.reconnect) recorder.record("connect", took);
    }
    for (const template of this.fleet.program.templates) {
      for (let time = 0; time < template.repeat; time += 1) await this.statement(template, recorder);
    }
    if (workload.reconnect) {
      const began = clock();
      await this.close();
      recorder.record("close", clock() - began);
    }
  }

  /** Draws values, runs one statement, and times it until all that it answers is there. */
  async statement(template, recorder) {
    const values = template.draw(this.random, this.numbers);
    const began = clock();
    await this.run(template, values);
    const took = clock() - began;
    this.fleet.answers += 1;
    recorder.record(this.fresh ? "first_query" : "query", took);
    this.fresh = false;
  }

  run(template, values, how) {
    const { adapter } = this.fleet;
    const { connection } = this;
    if (!template.prepared) return adapter.text(connection, template.render(values), how);
    return adapter.prepared(connection, template.preparable, template.bound(values), how);
  }

  /** A statement as it is run and its rows as texts, for the laboratory to check. */
  async sample(template) {
    const values = template.draw(this.random, this.numbers);
    const rows = await this.run(template, values, { rowsAsArray: true, dateStrings: true });
    return { sql: template.render(values), rows: rows.map((row) => row.map(textOf)) };
  }
}

/** A value of a row as text; NULL stays null. */
export function textOf(value) {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString("utf8");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
