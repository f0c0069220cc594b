# Asks a database five times by mysql2, on a client that is kept or not: keep.rb NAME PORT CA_FILE HOW.
# frozen_string_literal: true

require "mysql2"

_, port, ca_file, how = ARGV
# Version 0.5.3 warns of ssl_mode over libmariadb, and encrypts for sslca alone.
words = { ssl_mode: :verify_identity, sslca: ca_file }
words.delete(:ssl_mode) if Mysql2::VERSION == "0.5.3"
client = nil
5.times do
  client = nil unless how == "kept"
  client ||= Mysql2::Client.new(
    host: "127.0.0.1", port: Integer(port), username: "ann", password: ENV.fetch("TLSTAX_PASSWORD"), database: "lent", **words
  )
  client.query("SELECT 1").to_a
end
