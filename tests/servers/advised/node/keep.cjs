// Asks a database five times over a pool's connections: node keep.cjs DRIVER PORT CA_FILE, the password in the environment.
"use strict";

const fs = require("node:fs");

async function main(driver, port, caFile) {
  const library = require(driver === "mysql2" ? "mysql2/promise" : "mariadb");
  const verified = { ca: fs.readFileSync(caFile), rejectUnauthorized: true };
  const pool = library.createPool({
    host: "127.0.0.1", port: Number(port), user: "ann", password: process.env.TLSTAX_PASSWORD, database: "lent",
    connectionLimit: 1, ssl: driver === "mysql2" ? { ...verified, verifyIdentity: true } : verified,
  });
  for (let time = 0; time < 5; time += 1) {
    const connection = await pool.getConnection();
    await connection.query("SELECT 1");
    await connection.release();
  }
  await pool.end();
}

main(...process.argv.slice(2));
