// Statements with placeholders, compiled once, and the values that are put into them.

import { Failure } from "./failure.js";

/** A source of random numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Numbers that are each given once; an operation takes `perOperation` of them. */
export class Sequence {
  constructor(first, last, perOperation) {
    Object.assign(this, { next: first, last, perOperation });
  }
}

/** A compiled statement: texts, and between each two of them the slot of a value. */
class Template {
  constructor(statement, protocol, sequences) {
    this.prepared = (statement.protocol ?? protocol) === "prepared";
    this.repeat = statement.repeat ?? 1;
    const names = inOrder(statement.parameters ?? {});
    const make = (name) => makerOf(name, statement.parameters[name], names, this.repeat, sequences);
    this.makers = names.map(make);
    [this.texts, this.slots] = pieces(statement.sql, names);
    this.preparable = this.texts.join("?");
    this.asks = /^\s*select\b/i.test(this.preparable);
  }

  /** The values of one run; `numbers` are those that the operation has taken of the sequences. */
  draw(random, numbers) {
    const values = [];
    for (const make of this.makers) values.push(make(random, values, numbers));
    return values;
  }

  /** The text with values put in as literals. */
  render(values) {
    let sql = this.texts[0];
    for (let place = 0; place < this.slots.length; place += 1) {
      sql += literal(values[this.slots[place]]) + this.texts[place + 1];
    }
    return sql;
  }

  /** The values in the order of the question marks. */
  bound(values) {
    return this.slots.map((slot) => values[slot]);
  }
}

/** A workload's statements, compiled, and the sequences that they share. A mistake in one is a bad_job. */
export function compile(workload) {
  const sequences = [];
  const templates = workload.statements.map((one) => new Template(one, workload.protocol, sequences));
  return { templates, sequences, selects: templates.every((one) => one.asks) };
}

/** Names of parameters, each behind what it is an offset of. */
function inOrder(parameters) {
  const names = Object.keys(parameters);
  const offsets = names.filter((name) => parameters[name].kind === "offset");
  return [...names.filter((name) => !offsets.includes(name)), ...offsets];
}

function makerOf(name, parameter, names, repeat, sequences) {
  const { kind, low, high, by, template, values } = parameter;
  if (kind === "uniform_int" && low <= high) {
    return (random) => low + Math.floor(random() * (high - low + 1));
  }
  if (kind === "sequence") {
    const place = sequences.push(new Sequence(parameter.first, parameter.last, repeat)) - 1;
    return (_random, _values, numbers) => numbers[place]++;
  }
  if (kind === "offset" && names.includes(parameter.of)) {
    const slot = names.indexOf(parameter.of);
    return (_random, drawn) => drawn[slot] + by;
  }
  if (kind === "digits") {
    return (random) => template.replace(/#/g, () => Math.floor(random() * 10));
  }
  if (kind === "one_of" && values?.length) {
    return (random) => values[Math.floor(random() * values.length)];
  }
  return refuse(`parameter ${name} cannot be: ${JSON.stringify(parameter)}`);
}

function refuse(sentence) {
  throw new Failure("bad_job", sentence);
}

/** A statement taken apart at its placeholders. */
function pieces(sql, names) {
  const [texts, slots] = [[""], []];
  for (let at = 0; at < sql.length; at += 1) {
    const char = sql[at];
    if (char !== "{" && char !== "}") texts[texts.length - 1] += char;
    else if (sql[at + 1] === char) {
      texts[texts.length - 1] += char;
      at += 1;
    } else {
      const ends = sql.indexOf("}", at);
      if (char === "}" || ends < 0) refuse(`a brace stands alone (write it twice) in: ${sql}`);
      const slot = names.indexOf(sql.slice(at + 1, ends));
      if (slot < 0) refuse(`placeholder ${sql.slice(at, ends + 1)} has no parameter of that name`);
      slots.push(slot);
      texts.push("");
      at = ends;
    }
  }
  return [texts, slots];
}

/**
 * A value as it stands in a statement. What a backslash means depends on the session's sql_mode, so a text
 * with one is written in hexadecimal.
 */
export function literal(value) {
  if (typeof value === "number") return String(value);
  if (value.includes("\\")) return `X'${Buffer.from(value).toString("hex")}'`;
  return `'${value.replaceAll("'", "''")}'`;
}
