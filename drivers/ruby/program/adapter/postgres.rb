# pg as its users call it: `PG.connect`, `exec`, `prepare` and `exec_prepared`.
# frozen_string_literal: true

require "adapter/failure"
require "pg"

module Adapter
  # How a connection is made.
  class Driver
    MODES = { "none" => "require", "ca" => "verify-ca", "identity" => "verify-full" }.freeze

    attr_reader :settings

    # What a connection is made with, by libpq's words, the job's own options last.
    def initialize(setup)
      endpoint, account, tls, words = setup.values_at("endpoint", "account", "tls", "options")
      login = { user: account["user"], password: account["password"], dbname: account["database"] }.compact
      @settings = { **place(endpoint), **login, **tls_words(tls), **words.transform_keys(&:to_sym) }
    end

    # pg's version, and that of the client library.
    def version
      number = PG.library_version
      "#{PG::VERSION} (libpq #{number / 10_000}.#{number % 10_000})"
    end

    # A statement with `$1`, `$2`, … for its values.
    def marked(pieces) = pieces.each_with_index.map { |piece, number| "#{"$#{number}" if number.positive?}#{piece}" }.join

    # An open connection. Raises what pg raises.
    def connect = Session.new(PG.connect(**settings))

    private

    # A Unix socket is its folder, with the port that its name ends with.
    def place(endpoint)
      return { host: endpoint["host"], port: endpoint["port"] } unless endpoint["kind"] == "unix"

      folder, port = endpoint["path"].split("/.s.PGSQL.")
      { host: folder, port: }
    end

    def tls_words(tls)
      case tls["mode"]
      when "unset" then {}
      when "off" then { sslmode: "disable" }
      when "required" then { sslmode: "require" }
      else { sslmode: MODES[tls["verify"]], **files(tls), **versions(tls["versions"]) }
      end
    end

    def files(tls)
      authority = tls["ca_file"] unless tls["verify"] == "none"
      { sslrootcert: authority, sslcert: tls["certificate_file"], sslkey: tls["key_file"] }.compact
    end

    def versions(versions)
      return {} if versions.empty?

      first, last = versions.values_at(0, -1).map { |version| "TLSv#{version}".sub("v1.0", "v1") }
      { ssl_min_protocol_version: first, ssl_max_protocol_version: last }
    end
  end

  # A connection that is open, with the statements that are prepared on it.
  class Session
    def initialize(connection)
      @connection, @prepared = connection, {}
    end

    # Run this text; its rows, of which a statement that selects nothing has none.
    def say(sql) = @connection.exec(sql, &:values)

    # Prepare this statement once.
    def prepare(sql)
      return if @prepared[sql]

      @prepared[sql] = "s#{@prepared.size}"
      @connection.prepare(@prepared[sql], sql)
    end

    # Run a prepared statement; its rows.
    def run_prepared(sql, values) = @connection.exec_prepared(@prepared[sql], values, &:values)

    # Hang up as the driver does.
    def close = @connection.close

    # A value of a row, which is a text.
    def self.shown(value) = value&.to_s
  end
end
