// postgres.js: a pool of one connection, which it is told to reserve, so that it opens when it is to.

import { readFileSync } from "node:fs";
import postgres from "postgres";

// Its package keeps package.json from being imported.
const about = new URL("node_modules/postgres/package.json", import.meta.url);
export const { version } = JSON.parse(readFileSync(about, "utf8"));

/** What it can be told besides what all can. */
export const takes = ["direct"];

export { numbered as marked } from "./terms.js";

/** Its own words for encryption; none where nothing is to be said. It does not encrypt unless it is told. */
export function tlsWords(tls, material) {
  if (tls.mode === "unset") return {};
  if (tls.mode === "off") return { ssl: false };
  if (tls.mode === "required") return { ssl: "require" };
  const ssl = { ...material, rejectUnauthorized: tls.verify !== "none" };
  if (tls.verify === "ca") ssl.checkServerIdentity = () => undefined;
  return { ssl, ...(tls.direct ? { sslnegotiation: "direct" } : {}) };
}

/** Of what it would try again and again without an end, the first failure counts. */
export async function open(options) {
  const pool = postgres(Object.assign(options, { max: 1, onnotice: () => {} }));
  return { pool, reserved: await pool.reserve() };
}

export function text(connection, sql, how = {}) {
  return rowsOf(connection.reserved.unsafe(sql), how);
}

export function prepared(connection, sql, values, how = {}) {
  return rowsOf(connection.reserved.unsafe(sql, values, { prepare: true }), how);
}

const rowsOf = async (query, how) => {
  const rows = await (how.rowsAsArray ? query.values() : query);
  return rows.columns ? rows : undefined;
};

export async function close(connection) {
  connection.reserved.release();
  await connection.pool.end();
}

/** Hangs up a connection that is lost. */
export function drop(connection) {
  connection.pool.end({ timeout: 0 }).catch(() => {});
}

/** It keeps its socket to itself: undefined, for it does not tell. */
export function tlsView() {
  return undefined;
}
