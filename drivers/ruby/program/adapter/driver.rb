# mysql2 as its users call it: `Mysql2::Client.new`, `query` and `prepare`.
# frozen_string_literal: true

require "adapter/failure"
require "bigdecimal"
require "mysql2"
require "tempfile"

module Adapter
  # How a client is made.
  class Driver
    # The words of mysql2's documentation; one that it does not know it ignores.
    WORDS = %w[
      automatic_close cache_rows cast cast_booleans charset_name connect_attrs connect_timeout database_timezone
      application_timezone default_auth default_file default_group enable_cleartext_plugin encoding flags
      get_server_public_key init_command local_infile read_timeout reconnect secure_auth ssl_mode sslca sslcapath sslcert
      sslcipher sslkey sslverify stream symbolize_keys write_timeout
    ].freeze
    # Earlier versions warn of `ssl_mode` over libmariadb and do without it, and check no host.
    TAKES_SSL_MODE = (Mysql2::VERSION.split(".").map(&:to_i) <=> [0, 5, 4]) >= 0

    attr_reader :settings

    # What a client is made with, the job's own options last. Raises Failure (bad_job).
    def initialize(setup)
      endpoint, account, tls, words = setup.values_at("endpoint", "account", "tls", "options")
      place = endpoint["kind"] == "unix" ? { socket: endpoint["path"] } : { host: endpoint["host"], port: endpoint["port"] }
      login = { username: account["user"], password: account["password"], database: account["database"] }.compact
      unknown = words.keys - WORDS
      raise Adapter.bad_job("mysql2 has no option #{unknown.first}") unless unknown.empty?

      options = words.to_h { |name, word| [name.to_sym, name == "ssl_mode" ? word.to_sym : option_of(word)] }
      @settings = { **place, **login, **tls_settings(tls), **options }
    end

    # mysql2's version, and that of the client library.
    def version = "#{Mysql2::VERSION} (libmariadb #{Mysql2::Client.info[:version]})"

    # A statement with `?` for each value.
    def marked(pieces) = pieces.join("?")

    # An open connection. Raises what mysql2 raises.
    def connect = Session.new(Mysql2::Client.new(settings))

    private

    # A truth or a whole number where it reads as one, anything else is text.
    def option_of(word)
      case word
      when /\Atrue\z/i then true
      when /\Afalse\z/i then false
      when /\A-?\d+\z/ then word.to_i
      else word
      end
    end

    def tls_settings(tls)
      case tls["mode"]
      when "unset" then {}
      when "off" then TAKES_SSL_MODE ? { ssl_mode: :disabled } : {}
      when "required" then { ssl_mode: :required }
      else tls_that_is_on(tls)
      end
    end

    def tls_that_is_on(tls)
      files = { sslca: tls["ca_file"], sslcert: tls["certificate_file"], sslkey: tls["key_file"] }.compact
      files[:default_file] = options_file(tls["versions"]) unless tls["versions"].empty?
      { **checks(tls["verify"]), **files }
    end

    # `sslverify` makes any version encrypt, whether it is true or false.
    def checks(verify)
      return { ssl_mode: :required, sslverify: false } if verify == "none" && TAKES_SSL_MODE
      # Libmariadb verifies chain and name by one option, and `:verify_ca` is not taken over it.
      return { ssl_mode: :verify_identity } if TAKES_SSL_MODE
      return { sslverify: verify == "ca" } unless verify == "identity"

      raise Adapter.bad_job("mysql2 #{Mysql2::VERSION} cannot be told to check the host over libmariadb")
    end

    # The path of a file of options without a name, which lasts as long as the process: versions are libmariadb's to be
    # told, and mysql2 has no word for them.
    def options_file(versions)
      @file = Tempfile.new
      @file.write("[client]\ntls_version=#{versions.map { |version| "TLSv#{version}" }.join(',')}\n")
      @file.flush
      @file.unlink
      "/proc/self/fd/#{@file.fileno}"
    end
  end

  # A connection that is open, with the statements that are prepared on it.
  class Session
    def initialize(client)
      @client, @prepared = client, {}
    end

    # Run this text; its rows, of which a statement that selects nothing has none.
    def say(sql) = @client.query(sql, as: :array).to_a

    # Prepare this statement, with `?` for each value, once.
    def prepare(sql) = @prepared[sql] ||= @client.prepare(sql)

    # Run a prepared statement; its rows.
    def run_prepared(sql, values) = @prepared[sql].execute(*values, as: :array).to_a

    # Hang up as the driver does.
    def close = @client.close

    # A value of a row as the text protocol has it.
    def self.shown(value)
      case value
      when nil then nil
      when BigDecimal then value.frac.zero? ? value.to_i.to_s : value.to_s("F")
      when Float then value.to_s.sub(/\.0(?=e|\z)/, "").sub("e+", "e")
      else value.to_s.dup.force_encoding("UTF-8").scrub
      end
    end
  end
end
