// The window: what was done in each slice, and in all of them together.

/** The clocks and counts of a fleet, from `begin` to `end` of every slice; what lies between counts nowhere. */
export class Window {
  constructor(fleet) {
    this.fleet = fleet;
    Object.assign(this, { elapsedS: 0, operations: 0, opened: 0, beganMs: 0 });
    this.cpu = { total_us: 0, user_us: 0, system_us: 0 };
  }

  begin() {
    this.beganMs = performance.now();
    this.before = { cpu: cpuTime(), ...this.counted() };
  }

  /** Seconds of the window that have passed within slices. */
  passedS() {
    return this.elapsedS + (performance.now() - this.beganMs) / 1000;
  }

  /** The event of a slice of this length whose last answer has just come. */
  end(lengthS) {
    const { before } = this;
    const tookS = (performance.now() - this.beganMs) / 1000;
    const cpu = cpuTime(before.cpu);
    const now = this.counted();
    const elapsedS = now.started > before.started ? tookS : lengthS;
    const [operations, opened] = [now.operations - before.operations, now.opened - before.opened];
    this.elapsedS += elapsedS;
    this.operations += operations;
    this.opened += opened;
    for (const share of Object.keys(cpu)) this.cpu[share] += cpu[share];
    return {
      event: "slice", elapsed_s: elapsedS, operations,
      latency_sum_s: (now.latencyNs - before.latencyNs) / 1e9, cpu_us: cpu.total_us,
      counts: countsOf(opened), rounds_s: [],
    };
  }

  counted() {
    const { operations, opened, recorder: { started, latencyNs } } = this.fleet;
    return { operations, opened, started, latencyNs };
  }
}

/** Connections opened; handshakes and ways of logging in are not counted. */
export function countsOf(connections) {
  return { connections, handshakes: [], authentications: {} };
}

/** CPU time of the process in microseconds, since `before` where that is given. */
export function cpuTime(before) {
  const { user, system } = process.cpuUsage();
  const since = (now, then) => now - (then ?? 0);
  return {
    total_us: since(user + system, before?.total_us), user_us: since(user, before?.user_us),
    system_us: since(system, before?.system_us),
  };
}
