// What the connections of a job share: numbers in sequence, and how many operations may still be started.

/** Says whether one more operation may be started. */
export class Supply {
  constructor(sequences) {
    this.sequences = sequences;
    this.left = Infinity;
    this.untilMs = 0;
    this.stopped = true;
  }

  /** Lets no more than N operations be started from now on, over all slices; null sets no limit. */
  limit(operations) {
    this.left = operations ?? Infinity;
  }

  /** Lets operations be started until then (performance.now()). */
  start(untilMs) {
    this.untilMs = untilMs;
    this.stopped = false;
  }

  /** Lets no more operations be started. */
  stop() {
    this.stopped = true;
  }

  /** Starts one: puts the first of its numbers of each sequence into `numbers`. False where none may be. */
  reserve(numbers) {
    const enough = this.sequences.every((one) => one.next + one.perOperation - 1 <= one.last);
    if (this.stopped || this.left <= 0 || !enough || performance.now() >= this.untilMs) {
      this.stopped = true;
      return false;
    }
    this.left -= 1;
    for (let place = 0; place < this.sequences.length; place += 1) {
      const one = this.sequences[place];
      numbers[place] = one.next;
      one.next += one.perOperation;
    }
    return true;
  }
}
