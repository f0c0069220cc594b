// An adapter for a Node.js driver: the setup from standard input, and a task for the orders of each channel.

import { Socket } from "node:net";

import { Channel } from "./channel.js";
import { failed } from "./failure.js";
import { Terms } from "./terms.js";

const [, , driverName] = process.argv;

/** Writes the line that says what became of the setup. */
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

/** Says whether the driver takes what it is told, and serves each channel; where not, it serves none. */
async function begin(line) {
  const setup = JSON.parse(line);
  const driver = await import(`./${driverName}.js`);
  try {
    const terms = new Terms(setup, driver);
    const channels = setup.channels.map(([input, output]) => new Channel(
      setup, driver, terms, new Socket({ fd: input, readable: true, writable: false }),
      new Socket({ fd: output, readable: false, writable: true }),
    ));
    say({ takes: driver.takes });
    for (const channel of channels) channel.serve();
  } catch (error) {
    say(failed(error));
  }
}

let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", function hear(more) {
  text += more;
  if (!text.includes("\n")) return;
  process.stdin.off("data", hear).on("data", () => {});
  begin(text);
});
process.stdin.on("end", () => process.exit(0));
