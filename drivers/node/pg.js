// node-postgres (`pg`) by its Client, as programs use it that keep a connection of their own.

import { createRequire } from "node:module";
import pg from "pg";

export const version = createRequire(import.meta.url)("pg/package.json").version;

/** What it can be told besides what all can. */
export const takes = ["direct"];

/** A statement that it prepares is called by a name; the same everywhere, since each is of its connection. */
const names = new Map();
const nameOf = (sql) => {
  if (!names.has(sql)) names.set(sql, `s${names.size}`);
  return names.get(sql);
};

export { numbered as marked } from "./terms.js";

/** Its own words for encryption; none where nothing is to be said. It does not encrypt unless it is told. */
export function tlsWords(tls, material) {
  if (tls.mode === "unset") return {};
  if (tls.mode === "off") return { ssl: false };
  if (tls.mode === "required") return { ssl: true };
  const ssl = { ...material, rejectUnauthorized: tls.verify !== "none" };
  if (tls.verify === "ca") ssl.checkServerIdentity = () => undefined;
  return { ssl, ...(tls.direct ? { sslnegotiation: "direct" } : {}) };
}

export async function open(options) {
  const connection = new pg.Client(options);
  connection.on("error", () => {});
  await connection.connect();
  return connection;
}

export async function text(connection, sql, how = {}) {
  return rowsOf(await connection.query({ text: sql, ...rowMode(how) }));
}

export async function prepared(connection, sql, values, how = {}) {
  return rowsOf(await connection.query({ name: nameOf(sql), text: sql, values, ...rowMode(how) }));
}

const rowMode = (how) => (how.rowsAsArray ? { rowMode: "array" } : {});
const rowsOf = (result) => (result.fields.length ? result.rows : undefined);

export async function close(connection) {
  await connection.end();
}

/** Hangs up a connection that is lost. */
export function drop(connection) {
  connection.connection.stream.destroy();
}

/** What the runtime's TLS socket says was agreed on; null in the clear. */
export function tlsView(connection) {
  const socket = connection.connection.stream;
  if (!socket.encrypted) return null;
  return { version: socket.getProtocol(), cipher: socket.getCipher().name, resumed: socket.isSessionReused() };
}
