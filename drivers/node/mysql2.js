// mysql2 by its promise API, as most programs use it.

import { createRequire } from "node:module";
import mysql from "mysql2/promise";

/** IANA's names of the groups that OpenSSL calls otherwise. */
const GROUPS = { X25519: "x25519", prime256v1: "secp256r1" };

export const version = createRequire(import.meta.url)("mysql2/package.json").version;

/** What it can be told besides what all can. */
export const takes = [];

/** Its own words for encryption; none where nothing is to be said. It does not encrypt unless it is told. */
export function tlsWords(tls, material) {
  if (tls.mode === "unset") return {};
  if (tls.mode === "off") return { ssl: false };
  if (tls.mode === "required") return { ssl: {} };
  const verifies = tls.verify !== "none";
  return { ssl: { ...material, rejectUnauthorized: verifies, verifyIdentity: tls.verify === "identity" } };
}

export async function open(options) {
  const connection = await mysql.createConnection(options);
  connection.on("error", () => {});
  return connection;
}

export async function text(connection, sql, how = {}) {
  const [rows] = await connection.query({ sql, ...how });
  return rows;
}

export async function prepared(connection, sql, values, how = {}) {
  const [rows] = await connection.execute({ sql, values, ...how });
  return rows;
}

export async function close(connection) {
  await connection.end();
}

/** Hangs up a connection that is lost. */
export function drop(connection) {
  connection.destroy();
}

/** What the runtime's TLS socket says was agreed on; null in the clear. */
export function tlsView(connection) {
  const socket = connection.connection.stream;
  if (!socket.encrypted) return null;
  const { name } = socket.getEphemeralKeyInfo() ?? {};
  return {
    version: socket.getProtocol(), cipher: socket.getCipher().name, resumed: socket.isSessionReused(),
    group: name ? (GROUPS[name] ?? name) : undefined,
  };
}
