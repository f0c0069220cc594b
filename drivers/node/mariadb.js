// MariaDB Connector/Node.js by its promise API, as most programs use it.

import mariadb from "mariadb";

export const { version } = mariadb;

/** What it can be told besides what all can. */
export const takes = ["server_name"];

/** Its own words for encryption; none where nothing is to be said. It does not encrypt unless it is told. */
export function tlsWords(tls, material) {
  if (tls.mode === "unset") return {};
  if (tls.mode === "off") return { ssl: false };
  if (tls.mode === "required") return { ssl: true };
  const ssl = { ...material, rejectUnauthorized: tls.verify !== "none" };
  if (tls.server_name) ssl.servername = tls.server_name;
  if (tls.verify === "ca") ssl.checkServerIdentity = () => undefined;
  return { ssl };
}

export async function open(options) {
  const connection = await mariadb.createConnection(options);
  connection.on("error", () => {});
  return connection;
}

export function text(connection, sql, how = {}) {
  return connection.query({ sql, ...how });
}

export function prepared(connection, sql, values, how = {}) {
  return connection.execute({ sql, ...how }, values);
}

export async function close(connection) {
  await connection.end();
}

/** Hangs up a connection that is lost. */
export function drop(connection) {
  connection.destroy();
}

/** It keeps its socket to itself: undefined, for it does not tell. */
export function tlsView() {
  return undefined;
}
