// Tests of statements, sequences, jobs and the steady rule: what needs no server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { failureOf } from "../failure.js";
import { readJob } from "../job.js";
import * as mysql2 from "../mysql2.js";
import { isSteady } from "../steady.js";
import { Supply } from "../supply.js";
import { compile, literal, randomFrom } from "../template.js";
import { textOf } from "../worker.js";

const nodeMajor = Number(process.versions.node.split(".")[0]);

const compiled = (sql, parameters = {}, more = {}) =>
  compile({ protocol: "text", statements: [{ sql, parameters, ...more }] });

test("values are written as literals", () => {
  assert.deepEqual([-5, "it's", "a\\b"].map(literal), ["-5", "'it''s'", "X'615c62'"]);
});

test("values are filled in where they belong", () => {
  const { templates: [one] } = compiled("SELECT '{{x}}', {high}, {id}, {text}", {
    high: { kind: "offset", of: "id", by: 100 }, id: { kind: "uniform_int", low: 3, high: 5 },
    text: { kind: "digits", template: "#-#" },
  });
  assert.equal(one.preparable, "SELECT '{x}', ?, ?, ?");
  const values = one.draw(randomFrom(1), []);
  assert.match(one.render(values), /^SELECT '\{x\}', 10([345]), \1?[345], '\d-\d'$/);
  assert.equal(one.bound(values)[0], one.bound(values)[1] + 100);
});

test("numbers in sequence are given once and run out", () => {
  const numbered = { id: { kind: "sequence", first: 1, last: 5 } };
  const { sequences } = compiled("SELECT {id}", numbered, { repeat: 2 });
  const [supply, numbers] = [new Supply(sequences), []];
  supply.start(Infinity);
  const taken = [0, 1, 2].map(() => (supply.reserve(numbers) ? numbers[0] : null));
  assert.deepEqual(taken, [1, 3, null]);
  assert.equal(supply.stopped, true);
});

test("mistakes in a statement are named", () => {
  for (const sql of ["SELECT {key}", "SELECT {", "SELECT }"]) {
    assert.throws(() => compiled(sql), { kind: "bad_job" });
  }
});

const plain = {
  schema: 2, endpoint: { kind: "tcp", host: "h", port: 1 }, account: { user: "u", password: "p" },
  tls: { mode: "off" }, workload: { statements: [{ sql: "SELECT 1" }] }, connections: 1, duration_s: 1,
  seed: 1,
};

test("what is not done is refused by name", () => {
  assert.equal(readJob(JSON.stringify(plain)).timeout_s, 10);
  const refused = [
    [{ schema: 1 }, "schema is 1"], [{ more: 1 }, "more"], [{ reset: ["x"] }, "reset"],
    [{ tls: { mode: "on", groups: "x25519" } }, "tls.groups"], [{ driver: { batch: 2 } }, "batch"],
    [{ schedule: { mode: "open", rate_per_s: 1 } }, "closed loop"], [{ workload: { storm: true } }, "storm"],
    [{ account: null }, "account"],
  ];
  for (const [change, words] of refused) {
    const line = JSON.stringify({ ...plain, ...change });
    assert.throws(() => readJob(line), (error) => error.kind === "bad_job" && error.message.includes(words));
  }
});

// Below Node.js 20 mariadb ends the process that loads it.
test("mariadb is asked for TLS by a word of its own", { skip: nodeMajor < 20 && "mariadb needs Node.js 20" }, async () => {
  const mariadb = await import("../mariadb.js");
  assert.deepEqual(mariadb.tlsWords({ mode: "required", trusted_ca_file: null }, {}), { ssl: true });
});

test("TLS is required by each driver's own word, and nothing else is said", () => {
  const tls = { mode: "required", trusted_ca_file: null };
  assert.deepEqual(readJob(JSON.stringify({ ...plain, tls })).tls, tls);
  assert.deepEqual(mysql2.tlsWords(tls, {}), { ssl: {} });
  const other = JSON.stringify({ ...plain, tls: { mode: "preferred" } });
  assert.throws(() => readJob(other), { kind: "bad_job" });
});

test("a certificate for another host is a fault of the certificate, whoever finds it", () => {
  for (const code of ["ERR_TLS_CERT_ALTNAME_INVALID", "ER_TLS_IDENTITY_ERROR"]) {
    const error = Object.assign(new Error("altnames"), { code });
    assert.equal(failureOf(error, true, "a driver").kind, "certificate");
  }
});

test("it is steady when the cost has stopped to fall", () => {
  const slices = (...costs) => costs.map((cpu) => ({ cpu_us: cpu, operations: cpu ? 1 : 0 }));
  const ten = Array(10).fill(10);
  assert.equal(isSteady(slices(...ten.slice(1))), false);
  assert.equal(isSteady(slices(...ten)), true);
  assert.equal(isSteady(slices(10, 10, 10, 10, 10, 9, 9, 9, 10, 10)), false);
  assert.equal(isSteady(slices(...Array(10).fill(0))), false);
});

test("rows are told as texts", () => {
  assert.deepEqual([null, 5, 7n, Buffer.from("é"), "x"].map(textOf), [null, "5", "7", "é", "x"]);
});
