// A Node.js driver behind the contract: a job from file 3, `go` from standard input, events to its output.

import { execFileSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

import { Failure } from "./failure.js";
import { Fleet } from "./fleet.js";
import { readJob } from "./job.js";

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

/** What the laboratory says: `begun` when it says go, `over` when it is gone; before `done` that ends all. */
function listen(state) {
  const lines = createInterface({ input: process.stdin });
  const begun = new Promise((resolve) => {
    lines.on("line", (line) => line.trim() === "go" && resolve());
  });
  const over = new Promise((resolve) => {
    lines.on("close", () => (state.done ? resolve() : process.exit(0)));
  });
  return { begun, over };
}

async function converse() {
  const state = { done: false };
  const laboratory = listen(state);
  const line = readFileSync(3, "utf8");
  if (line.trim() === "") process.exit(0);
  const job = readJob(line);
  pin(job.cpus);
  const adapter = await import(`./${driver}.js`);
  const fleet = new Fleet(job, adapter, name, say, end);
  fleet.watch();
  fleet.busy = true;
  try {
    const negotiated = await fleet.open();
    const { warmup, steady } = await fleet.warmUp();
    fleet.busy = false;
    say({
      event: "ready", client: name, client_version: adapter.version, pid: process.pid,
      server_version: fleet.version, tls_library: null, negotiated, warmup, steady,
    });
    await laboratory.begun;
    fleet.busy = true;
    const result = await fleet.measure();
    fleet.busy = false;
    state.done = true;
    say(result);
  } catch (error) {
    end(fleet.failureOf(error));
  }
  await laboratory.over;
  await fleet.close().catch(() => {});
  process.exit(0);
}

converse().catch((error) => {
  end(error instanceof Failure ? error : new Failure("internal", error.message));
});
