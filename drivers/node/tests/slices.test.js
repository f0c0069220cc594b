// Tests of slices: what the laboratory orders, and what is counted in each and in all. None needs a server.

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Fleet } from "../fleet.js";
import { readJob } from "../job.js";
import { Laboratory, orderOf } from "../laboratory.js";

test("a slice is ordered with its length", () => {
  assert.deepEqual(orderOf("go 0.02"), { word: "go", lengthS: 0.02 });
  assert.deepEqual(orderOf(" end "), { word: "end" });
  for (const line of ["", "{}", "going 1", "the end"]) assert.equal(orderOf(line), null);
});

test("a length that is none is refused in one sentence", () => {
  for (const line of ["go", "go soon", "go 0", "go -1", "go NaN", "go Infinity", "go 1 2", "go 31536001"]) {
    assert.throws(() => orderOf(line), { kind: "bad_job", message: /^go needs the length of a slice[^\n]*$/ });
  }
});

test("orders are handed out one after the other, however they arrive", async () => {
  const input = new PassThrough();
  const laboratory = new Laboratory(input, () => assert.fail("it has not left"));
  const first = laboratory.order();
  input.write("\ngo 0.");
  input.write("5\ngo 2\ngo\nend\n");
  assert.deepEqual(await first, { word: "go", lengthS: 0.5 });
  assert.deepEqual(await laboratory.order(), { word: "go", lengthS: 2 });
  await assert.rejects(laboratory.order(), { kind: "bad_job" });
  assert.deepEqual(await laboratory.order(), { word: "end" });
  const over = laboratory.over();
  input.end();
  await over;
});

test("it is noticed when the laboratory leaves, whatever is waited for", async () => {
  const input = new PassThrough();
  const left = new Promise((resolve) => new Laboratory(input, resolve).order());
  input.end();
  await left;
});

/** A driver that answers every statement a millisecond later, as a connection with a server would. */
const slowDriver = {
  version: "1", untold: [], tlsWords: () => ({}), tlsView: () => undefined,
  open: async () => ({}), close: async () => {}, drop: () => {},
  async text(_, sql) {
    await sleep(1);
    return /^S(ELECT VERSION|HOW)/.test(sql) ? [["11.8-MariaDB", ""]] : [];
  },
};

async function fleetOf(change) {
  const job = readJob(JSON.stringify({
    schema: 2, endpoint: { kind: "tcp", host: "h", port: 1 }, account: { user: "u", password: "p" },
    tls: { mode: "off" }, workload: { statements: [{ sql: "DO 1" }], ...change.workload }, connections: 3,
    duration_s: 1, warmup_s: 0.01, seed: 1, operations: change.operations ?? null,
  }));
  const fleet = new Fleet(job, slowDriver, "slow", () => {}, assert.fail);
  await fleet.prepare();
  return fleet;
}

const sum = (slices, of) => slices.map(of).reduce((one, other) => one + other);
const near = (one, other) => assert.ok(Math.abs(one - other) < 1e-6, `${one} is not ${other}`);

test("the result is the sum of the slices", async () => {
  const fleet = await fleetOf({ workload: { reconnect: true } });
  const slices = [];
  for (const lengthS of [0.05, 0.001, 0.02]) {
    slices.push(await fleet.slice(lengthS));
    await sleep(5);
  }
  const done = fleet.result();
  assert.ok(done.operations > 0);
  for (const slice of slices) {
    assert.equal(slice.event, "slice");
    assert.equal(slice.latency_sum_s > 0, slice.operations > 0);
    assert.equal(slice.counts.connections, slice.operations);
  }
  assert.equal(done.operations, sum(slices, (one) => one.operations));
  assert.equal(done.scheduled, done.operations);
  assert.equal(done.window.connections, done.operations);
  near(done.elapsed_s, sum(slices, (one) => one.elapsed_s));
  near(done.cpu.total_us, sum(slices, (one) => one.cpu_us));
});

test("operations are counted over all slices, and a slice after them has none", async () => {
  const fleet = await fleetOf({ operations: 40 });
  const working = [await fleet.slice(0.005), await fleet.slice(600)];
  assert.equal(sum(working, (one) => one.operations), 40);
  const { operations, elapsed_s: elapsedS, latency_sum_s: latencyS, counts } = await fleet.slice(0.25);
  assert.deepEqual([operations, elapsedS, latencyS, counts.connections], [0, 0.25, 0, 0]);
  assert.equal(fleet.result().scheduled, 40);
});

test("no timer runs between slices", async () => {
  const fleet = await fleetOf({});
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  await fleet.slice(0.001);
  assert.equal(timers(), before);
});
