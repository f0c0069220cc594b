// What the driver is told: the endpoint, the account, encryption, and its own options, which win.

import { readFileSync } from "node:fs";

import { Refusal } from "./failure.js";

/** What a driver is told, as one object that is the same for all connections, and what of it it looked at. */
export class Terms {
  constructor({ name, endpoint, account, tls, options }, driver) {
    this.name = name;
    const words = Object.entries(options);
    this.options = Object.fromEntries(words.map(([key, word]) => [key, valueOf(word)]));
    const place = endpoint.kind === "unix"
      ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port };
    this.said = {
      ...place, user: account.user, password: account.password, database: account.database ?? undefined,
      ...driver.tlsWords(tls, material(tls)), ...this.options,
    };
    this.seen = new Set();
    this.checked = false;
  }

  /** The words; until they were checked it is noted which of them the driver reads. */
  words() {
    if (this.checked) return this.said;
    const { seen } = this;
    return new Proxy(this.said, {
      get(target, key) {
        seen.add(key);
        return target[key];
      },
    });
  }

  /** An option that the driver did not even look at when it connected is none of its own. */
  check() {
    const unread = Object.keys(this.options).find((key) => !this.seen.has(key));
    if (unread) throw new Refusal(`${this.name} has no option ${unread}: it takes no notice of it`);
    this.checked = true;
  }
}

/** A statement with `$1`, `$2`, … for its values, as PostgreSQL has them. */
export const numbered = (pieces) => pieces.reduce((before, piece, place) => `${before}$${place}${piece}`);

/** A word as mysql2 reads it in a URL: JSON where it is some, else text. Both drivers take that. */
function valueOf(word) {
  try {
    return JSON.parse(word);
  } catch {
    return word;
  }
}

/** What node:tls is told, whichever driver hands it on. */
function material(tls) {
  const told = {};
  const file = (field) => {
    try {
      return readFileSync(tls[field]);
    } catch (error) {
      throw new Refusal(`tls.${field} cannot be read: ${error.message}`);
    }
  };
  if (tls.min_version) told.minVersion = `TLSv${tls.min_version}`.replace(/v1\.0$/, "v1");
  if (tls.max_version) told.maxVersion = `TLSv${tls.max_version}`.replace(/v1\.0$/, "v1");
  if (tls.ca_file) told.ca = file("ca_file");
  if (tls.certificate_file) told.cert = file("certificate_file");
  if (tls.key_file) told.key = file("key_file");
  return told;
}
