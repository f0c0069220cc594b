// The job: all that a load client is told, read strictly and refused in one sentence where it cannot be done.

import { Failure } from "./failure.js";

/** The fields of each part of a job (contract/job.schema.json); one that is not here is refused. */
const FIELDS = {
  job: ["schema", "endpoint", "account", "tls", "workload", "schedule", "connections", "threads", "cpus",
    "warmup_s", "duration_s", "operations", "rounds", "reset", "timeout_s", "source_addresses", "seed",
    "row_samples", "attributes", "driver"],
  endpoint: ["kind", "host", "port", "path"],
  account: ["user", "password", "database"],
  tls: ["mode", "trusted_ca_file", "min_version", "max_version", "cipher_list", "ciphersuites", "groups",
    "verify", "ca_file", "server_name", "certificate_file", "key_file", "resumption", "weak_dh", "library",
    "keylog_file"],
  workload: ["reconnect", "protocol", "statements", "mix", "storm", "on_connect"],
  schedule: ["mode", "rate_per_s", "arrivals"],
  driver: ["options", "steady_within_s", "batch"],
  statement: ["sql", "parameters", "repeat", "protocol"],
};

const MODES = ["off", "on", "unset", "required"];

/** What of encryption neither driver can be told. */
const UNTOLD = ["cipher_list", "ciphersuites", "groups", "resumption", "weak_dh", "library", "keylog_file"];

const DEFAULTS = {
  schedule: { mode: "closed" }, cpus: [], warmup_s: 0.1, operations: null, reset: [], timeout_s: 10,
  row_samples: 16, driver: null,
};
const WORKLOAD = {
  reconnect: false, protocol: "text", statements: [], mix: [], storm: false, on_connect: [],
};
const TERMS = { options: {}, steady_within_s: 0, batch: 1 };

/** A job from its line. What is unknown, of the wrong kind, or not done here is a bad_job. */
export function readJob(line) {
  let told;
  try {
    told = JSON.parse(line);
  } catch {
    throw new Failure("bad_job", "the job is not JSON");
  }
  checkFields("job", told);
  for (const part of ["endpoint", "account", "tls", "workload", "schedule", "driver"]) {
    if (told[part] !== null && told[part] !== undefined) checkFields(part, told[part]);
    else if (!["schedule", "driver"].includes(part)) missing(part);
  }
  const job = { ...DEFAULTS, ...told };
  job.workload = { ...WORKLOAD, ...told.workload };
  job.driver = { ...TERMS, ...told.driver };
  job.workload.statements.forEach((statement) => checkFields("statement", statement));
  const broken = rules(job).find(([holds]) => !holds);
  if (broken) throw new Failure("bad_job", broken[1]);
  return job;
}

function missing(part) {
  throw new Failure("bad_job", `job field ${part} is missing`);
}

function checkFields(part, value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Failure("bad_job", `the job's ${part} must be an object`);
  }
  const unknown = Object.keys(value).find((name) => !FIELDS[part].includes(name));
  if (unknown) throw new Failure("bad_job", `the job's ${part} has a field that is not known: ${unknown}`);
}

/** What must hold of a job, and the sentence where it does not. */
function rules(job) {
  const { workload, tls } = job;
  const positive = (number) => typeof number === "number" && number > 0;
  const untold = UNTOLD.find((name) => tls[name]);
  return [
    [job.schema === 2, `schema is ${job.schema}, and this driver's program speaks 2`],
    [Number.isInteger(job.connections) && job.connections > 0, "connections must be at least 1"],
    [positive(job.duration_s), "duration_s must be more than 0"],
    [positive(job.timeout_s), "timeout_s must be more than 0"],
    [job.warmup_s >= 0, "warmup_s must be 0 or more"],
    [job.operations === null || positive(job.operations), "operations must be at least 1"],
    [["tcp", "unix"].includes(job.endpoint.kind), "endpoint.kind must be tcp or unix"],
    [MODES.includes(tls.mode), `tls.mode must be one of ${MODES.join(", ")}`],
    [!workload.storm, "this driver's program does no storm"],
    [workload.mix.length === 0, "this driver's program does no mix of transactions"],
    [workload.statements.length > 0, "a workload needs statements"],
    [job.schedule.mode === "closed", "this driver's program does a closed loop alone"],
    [job.reset.length === 0, "this driver's program works in one go and says no reset"],
    [job.driver.batch === 1, "this driver's program does no batches: batch must be 1"],
    [!untold, `this driver cannot be told tls.${untold}`],
  ];
}
