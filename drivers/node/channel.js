// One channel: its orders, the operations that it has in stock, and the connection that they are done on.

import { failed, keepsConnection } from "./failure.js";

const [BETWEEN_OPERATIONS, BETWEEN_FIELDS] = ["\x1e", "\x1f"];

/** CLOCK_MONOTONIC in nanoseconds, exact for the first hundred days of a machine. */
const now = () => Number(process.hrtime.bigint());

/** Serves a channel. `times` are of the operations since the last report, of each 4 and one for each call. */
export class Channel {
  constructor(setup, driver, terms, input, output) {
    Object.assign(this, { setup, driver, terms, input, output, connection: null, opened: 0 });
    this.calls = setup.calls.map((call) => ({ ...call, preparable: driver.marked?.(call.pieces) ?? call.pieces.join("?") }));
    this.single = this.calls.length === 1 && !this.calls[0].prepared;
    Object.assign(this, { stock: [], next: 0, times: new Float64Array(4096), told: 0 });
  }

  /** Does the channel's orders until it is closed. */
  async serve() {
    for await (const [words, body] of orders(this.input)) {
      let answer;
      try {
        answer = await this.order(words, body);
      } catch (error) {
        answer = failed(error);
      }
      const { body: behind = "", ...line } = answer;
      this.output.write(`${JSON.stringify(line)}\n${behind}`);
    }
  }

  order([word, argument], body) {
    switch (word) {
      case "open": return this.open();
      case "rows": return this.rows(Number(argument), body);
      case "operations": return this.fill(argument === "0" ? [] : body.split(BETWEEN_OPERATIONS));
      case "empty": return this.empty();
      case "work": return this.work(Number(argument));
      case "report": return this.report();
      case "close": return this.close();
      default: throw new Error(`there is no order ${word}`);
    }
  }

  async open() {
    await this.connect();
    await this.begin();
    return { version: this.driver.version, view: this.driver.tlsView(this.connection) };
  }

  async connect() {
    try {
      this.connection = await this.driver.open(this.terms.words());
      this.terms.check();
    } catch (error) {
      this.drop();
      throw Object.assign(error, { opening: true });
    }
    this.opened += 1;
  }

  /** Says on a new connection what is said on connecting. The driver prepares what it first sees. */
  async begin() {
    try {
      for (const sql of this.setup.on_connect) await this.driver.text(this.connection, sql);
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  async close() {
    const { connection } = this;
    this.connection = null;
    if (connection) await this.driver.close(connection);
    return {};
  }

  /** Gives a connection up that is lost. */
  drop() {
    if (this.connection) this.driver.drop(this.connection);
    this.connection = null;
  }

  /** Runs a call, or with -1 a statement by itself, for its rows. */
  async rows(number, body) {
    const how = { rowsAsArray: true, dateStrings: true };
    const call = this.calls[number];
    try {
      const rows = call?.prepared
        ? await this.driver.prepared(this.connection, call.preparable, valuesOf(call, fieldsOf(body)), how)
        : await this.driver.text(this.connection, body, how);
      return { rows: Array.isArray(rows) ? rows.map((row) => row.map(textOf)) : [] };
    } catch (error) {
      if (!keepsConnection(error)) this.drop();
      throw error;
    }
  }

  fill(operations) {
    this.stock = this.stock.slice(this.next).concat(operations);
    this.next = 0;
    return {};
  }

  empty() {
    [this.stock, this.next] = [[], 0];
    return {};
  }

  /** Does operations of the stock, each begun before the clock shows `until`. */
  async work(until) {
    let operations = 0;
    for (; this.next < this.stock.length; operations += 1) {
      const values = this.take(this.stock[this.next]);
      const began = now();
      if (began >= until) break;
      this.next += 1;
      const kept = this.told;
      this.tell(began);
      try {
        await this.operation(values, began);
      } catch (error) {
        this.told = kept;
        if (this.setup.reconnect || !keepsConnection(error)) this.drop();
        throw error;
      }
    }
    return { operations };
  }

  /** What each call of an operation is handed: the statement of one in text, the values of a prepared one. */
  take(operation) {
    if (this.single) return [operation];
    const fields = fieldsOf(operation);
    let at = 0;
    return this.calls.map((call) => {
      if (!call.prepared) return fields[at++];
      const values = valuesOf(call, fields.slice(at));
      at += values.length;
      return values;
    });
  }

  /** Does all calls, and writes down when each part was over. With reconnect it also opens and closes. */
  async operation(values, began) {
    if (this.connection) {
      this.tell(began);
      this.tell(began);
    } else {
      await this.connect();
      this.tell(now());
      await this.begin();
      this.tell(now());
    }
    for (let place = 0; place < values.length; place += 1) {
      const call = this.calls[place];
      if (call.prepared) await this.driver.prepared(this.connection, call.preparable, values[place]);
      else await this.driver.text(this.connection, values[place]);
      this.tell(now());
    }
    if (this.setup.reconnect) {
      await this.close();
      this.tell(now());
    } else {
      this.tell(this.times[this.told - 1]);
    }
  }

  tell(ns) {
    if (this.told === this.times.length) {
      const more = new Float64Array(2 * this.told);
      more.set(this.times);
      this.times = more;
    }
    this.times[this.told++] = ns;
  }

  /** Hands over the times, and forgets them. */
  report() {
    const body = this.told ? `${this.times.subarray(0, this.told).join(" ")} ` : "";
    this.told = 0;
    return { opened: this.opened, bytes: body.length, body };
  }
}

/** Each order's words, and the body behind those that end in its length. */
async function* orders(input) {
  const chunks = input[Symbol.asyncIterator]();
  let pending = Buffer.alloc(0);
  const more = async (enough) => {
    const parts = [pending];
    for (let length = pending.length; !enough(parts.at(-1), length);) {
      const { value, done } = await chunks.next();
      if (done) return false;
      parts.push(value);
      length += value.length;
    }
    pending = parts.length > 1 ? Buffer.concat(parts) : pending;
    return true;
  };
  while (await more((last) => last.includes(10))) {
    const ends = pending.indexOf(10);
    const words = pending.toString("utf8", 0, ends).split(" ");
    pending = pending.subarray(ends + 1);
    const bytes = ["rows", "operations"].includes(words[0]) ? Number(words.at(-1)) : 0;
    if (!await more((_, length) => length >= bytes)) return;
    const body = pending.toString("utf8", 0, bytes);
    pending = pending.subarray(bytes);
    yield [words, body];
  }
}

const fieldsOf = (text) => text.split(BETWEEN_FIELDS);

/** The first of these fields as the values of a prepared call: numbers as JavaScript's, texts as they are. */
function valuesOf(call, fields) {
  return Array.from(call.types, (type, place) => (type === "i" ? Number(fields[place]) : fields[place]));
}

/** A value of a row as text; NULL stays null. */
export function textOf(value) {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString("utf8");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
