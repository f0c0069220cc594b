// A Node.js driver behind the contract: a job from file 3, orders from standard input, events to its output.

import { execFileSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";

import { Failure } from "./failure.js";
import { Fleet } from "./fleet.js";
import { readJob } from "./job.js";
import { Laboratory } from "./laboratory.js";

const [, , name, driver] = process.argv;

/** Writes one event, at once: what is said before the process ends must not be lost. */
function say(event) {
  const line = Buffer.from(`${JSON.stringify(event)}\n`);
  for (let written = 0; written < line.length;) {
    try {
      written += writeSync(1, line, written);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function end(failure) {
  say(failure.event(true));
  process.exit(1);
}

/** Keeps all threads of this process on these processors, which Node.js has no word for. */
function pin(cpus) {
  if (cpus.length === 0) return;
  try {
    execFileSync("taskset", ["-a", "-c", "-p", cpus.join(","), String(process.pid)], { stdio: "pipe" });
  } catch (error) {
    const [words] = error.message.split("\n");
    throw new Failure("limits", `the process cannot be kept on the job's cpus: ${words}`);
  }
}

/** A slice for each `go`, until `end`; then the result of all. */
async function takeTurns(laboratory, fleet) {
  for (let slices = 0; ; slices += 1) {
    const order = await laboratory.order();
    if (order.word === "go") say(await fleet.slice(order.lengthS));
    else if (slices > 0) return fleet.result();
    else throw new Failure("bad_job", "end came before the first slice");
  }
}

async function converse() {
  const laboratory = new Laboratory(process.stdin, () => process.exit(0));
  const line = readFileSync(3, "utf8");
  if (line.trim() === "") process.exit(0);
  const job = readJob(line);
  pin(job.cpus);
  const adapter = await import(`./${driver}.js`);
  const fleet = new Fleet(job, adapter, name, say, end);
  try {
    const { negotiated, warmup, steady } = await fleet.prepare();
    say({
      event: "ready", client: name, client_version: adapter.version, pid: process.pid,
      server_version: fleet.version, tls_library: null, negotiated, warmup, steady,
    });
    const result = await takeTurns(laboratory, fleet);
    const over = laboratory.over();
    say(result);
    await over;
  } catch (error) {
    end(fleet.failureOf(error));
  }
  await fleet.close().catch(() => {});
  process.exit(0);
}

converse().catch((error) => {
  end(error instanceof Failure ? error : new Failure("internal", error.message));
});
