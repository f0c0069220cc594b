// Tests of the adapter without a server: what a driver is told, what its errors mean, and a channel's orders.

import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";

import { Channel, textOf } from "../channel.js";
import { failed } from "../failure.js";
import * as mysql2 from "../mysql2.js";
import { Terms, numbered } from "../terms.js";

const nodeMajor = Number(process.versions.node.split(".")[0]);
const FOREVER = `work ${Number.MAX_SAFE_INTEGER}\n`;

const setup = {
  name: "fake-1", endpoint: { kind: "tcp", host: "h", port: 1 }, tls: { mode: "off" }, options: {},
  account: { user: "u", password: "p", database: null }, on_connect: ["SET x"], reconnect: false,
  calls: [
    { pieces: ["SELECT ", ""], types: "i", prepared: false, reads: true },
    { pieces: ["SELECT ", ", ", ""], types: "is", prepared: true, reads: true },
  ],
};

/** A driver that writes down what it is told, and fails at the word `bad`. */
function fake() {
  const said = [];
  const run = async (words) => {
    said.push(words);
    if (words.includes("bad")) throw Object.assign(new Error("no"), { sqlState: "42S22", errno: 1054 });
    return [[1, null]];
  };
  return {
    said, version: "1", takes: [], tlsWords: () => ({}), tlsView: () => undefined,
    open: async () => { said.push("open"); return {}; },
    text: (_, sql) => run(sql),
    prepared: (_, sql, values) => run(`${sql} ${JSON.stringify(values)}`),
    close: async () => { said.push("close"); },
    drop: () => { said.push("drop"); },
  };
}

/** Gives orders to a channel with that driver, and answers what it answers. */
function served(driver, changes = {}) {
  const told = { ...setup, ...changes };
  const [input, output] = [new PassThrough(), new PassThrough()];
  new Channel(told, driver, new Terms(told, driver), input, output).serve();
  return async (order) => {
    input.write(order);
    const [answer] = await once(output, "data");
    return String(answer);
  };
}

function operations(...all) {
  const body = all.join("\x1e");
  return `operations ${all.length} ${Buffer.byteLength(body)}\n${body}`;
}

test("operations are done as they were handed over, and each part has its time", async () => {
  const driver = fake();
  const order = served(driver);
  assert.equal(await order("open\n"), '{"version":"1"}\n');
  assert.equal(await order(operations("SELECT 7\x1f5\x1fit's", "SELECT 8\x1f6\x1f")), "{}\n");
  assert.equal(await order("work 1\n"), '{"operations":0}\n');
  assert.equal(await order(FOREVER), '{"operations":2}\n');
  assert.deepEqual(driver.said, [
    "open", "SET x", "SELECT 7", 'SELECT ?, ? [5,"it\'s"]', "SELECT 8", 'SELECT ?, ? [6,""]',
  ]);
  const [head, body] = (await order("report\n")).split("\n");
  assert.deepEqual(JSON.parse(head), { opened: 1, bytes: body.length });
  const times = body.trim().split(" ").map(Number);
  assert.equal(times.length, 12);
  assert.deepEqual(times, [...times].sort((a, b) => a - b));
  assert.equal(await order("report\n"), '{"opened":1,"bytes":0}\n');
});

test("with reconnect each operation opens a connection and closes it", async () => {
  const driver = fake();
  const order = served(driver, { reconnect: true, on_connect: [], calls: [setup.calls[0]] });
  await order(operations("SELECT 1", "SELECT 2"));
  await order(FOREVER);
  assert.deepEqual(driver.said, ["open", "SELECT 1", "close", "open", "SELECT 2", "close"]);
});

test("an operation that fails is told, leaves no times, and is not said again", async () => {
  const order = served(fake(), { calls: [setup.calls[0]] });
  await order("open\n");
  await order(operations("SELECT bad", "SELECT 2"));
  const { failure } = JSON.parse(await order(FOREVER));
  assert.deepEqual(failure, { kind: "server_error", words: "no", code: 1054, by: "driver" });
  assert.equal(await order(FOREVER), '{"operations":1}\n');
  assert.match(await order("report\n"), /^\{"opened":1,"bytes":\d+\}\n(\d+ ){5}$/);
});

test("a stock that is emptied is not worked", async () => {
  const order = served(fake(), { calls: [setup.calls[0]] });
  await order(operations("SELECT 1"));
  await order("empty\n");
  await order("operations 0 0\n");
  assert.equal(await order(FOREVER), '{"operations":0}\n');
});

test("an order that comes in pieces is put together", async () => {
  const order = served(fake(), { calls: [setup.calls[0]] });
  const whole = Buffer.from(operations("SELECT 'ü'"));
  const answer = order(whole.subarray(0, whole.length - 2));
  await new Promise(setImmediate);
  order(whole.subarray(whole.length - 2));
  assert.equal(await answer, "{}\n");
});

test("rows are told as texts", async () => {
  assert.equal(await served(fake())("rows -1 8\nSELECT 1"), '{"rows":[["1",null]]}\n');
  const values = [1, "a", null, Buffer.from("ü"), { a: 1 }];
  assert.deepEqual(values.map(textOf), ["1", "a", null, "ü", '{"a":1}']);
});

test("an option that the driver does not look at is refused", () => {
  const terms = new Terms({ ...setup, options: { ssl: '{"a":1}', more: "5" } }, fake());
  assert.deepEqual(terms.words().ssl, { a: 1 });
  assert.throws(() => terms.check(), /fake-1 has no option more/);
});

test("TLS is required by each driver's own word, and nothing else is said", () => {
  assert.deepEqual(mysql2.tlsWords({ mode: "required" }, {}), { ssl: {} });
});

test("PostgreSQL's statements have numbered places, and its errors a SQLSTATE", () => {
  assert.equal(numbered(["a=", " AND b=", ""]), "a=$1 AND b=$2");
  for (const [state, kind] of [["28P01", "access_denied"], ["42P01", "server_error"], ["57P01", "server_closed"]]) {
    const { failure } = failed(Object.assign(new Error("no"), { severity: "ERROR", code: state }));
    assert.deepEqual([failure.kind, failure.code], [kind, state]);
  }
});

test("PostgreSQL's drivers are asked for TLS by words of their own", async () => {
  const [pg, postgres] = await Promise.all([import("../pg.js"), import("../postgres.js")]);
  assert.deepEqual(pg.tlsWords({ mode: "required" }, {}), { ssl: true });
  assert.deepEqual(postgres.tlsWords({ mode: "required" }, {}), { ssl: "require" });
  const on = { mode: "on", verify: "none", direct: true };
  for (const driver of [pg, postgres]) {
    assert.deepEqual(driver.tlsWords(on, {}), { ssl: { rejectUnauthorized: false }, sslnegotiation: "direct" });
  }
});

// Below Node.js 20 mariadb ends the process that loads it.
const skip = nodeMajor < 20 && "mariadb needs Node.js 20";
test("mariadb is asked for TLS by a word of its own", { skip }, async () => {
  const mariadb = await import("../mariadb.js");
  assert.deepEqual(mariadb.tlsWords({ mode: "required" }, {}), { ssl: true });
});

test("a certificate for another host is a fault of the certificate, whoever finds it", () => {
  for (const code of ["ERR_TLS_CERT_ALTNAME_INVALID", "ER_TLS_IDENTITY_ERROR"]) {
    const error = Object.assign(new Error("altnames"), { code, opening: true });
    assert.equal(failed(error).failure.kind, "certificate");
  }
});

test("a connection that was lost while nothing was asked is the server's doing", () => {
  const mysql2s = Object.assign(new Error("Can't add new command when connection is in closed state"), { fatal: true });
  const mariadbs = Object.assign(new Error("connection closed"), { code: "ER_CMD_CONNECTION_CLOSED" });
  assert.deepEqual([mysql2s, mariadbs].map((error) => failed(error).failure.kind), ["server_closed", "server_closed"]);
});

test("a login that is refused is told from a statement that is", () => {
  const error = Object.assign(new Error("no"), { sqlState: "28000", errno: 1045 });
  assert.equal(failed(error).failure.kind, "server_error");
  assert.equal(failed(Object.assign(error, { opening: true })).failure.kind, "access_denied");
});
