# The job as it is read from one line of JSON, checked at the door.
# frozen_string_literal: true

require "driver_contract/fields"
require "driver_contract/statement"
require "json"

module DriverContract
  # What is to be said of TLS: mode `unset`, `required`, `off` or `on`, and for `on` how.
  Tls = Struct.new(
    :mode, :trusted_ca_file, :versions, :verify, :ca_file, :certificate_file, :key_file, keyword_init: true
  ) do
    # Whether a connection in the clear is none that the job asks for.
    def wanted? = %w[on required].include?(mode)
  end

  # All that the driver is told.
  class Job
    SCHEMA = 2
    # TLS versions of the contract, lowest first.
    TLS_VERSIONS = %w[1.0 1.1 1.2 1.3].freeze
    # Fields of TLS that mysql2 has no word for.
    UNTOLD = %w[cipher_list ciphersuites groups resumption library weak_dh keylog_file].freeze

    attr_reader :host, :port, :socket_path, :user, :password, :database, :tls, :reconnect, :statements, :on_connect,
                :connections, :cpus, :warmup_s, :duration_s, :operations, :timeout_s, :seed, :row_samples, :options,
                :steady_within_s

    # The job in this line. Raises Failure (bad_job) with what is wrong with it.
    def initialize(line)
      fields = Fields.new(parsed(line), "the job")
      schema = fields.take("schema", :whole)
      unless schema == SCHEMA
        raise DriverContract.bad_job("the job is of version #{schema} of the contract, and this client knows #{SCHEMA}")
      end

      take_endpoint(Fields.new(fields.take("endpoint", :object), "endpoint"))
      take_account(Fields.new(fields.take("account", :object), "account"))
      take_workload(fields, Fields.new(fields.take("workload", :object), "workload"))
      take_driver(Fields.new(fields.maybe("driver", :object, {}), "driver"))
      @tls = tls_of(Fields.new(fields.take("tls", :object), "tls"))
      take_course(fields)
      fields.end
    end

    # Whether a statement is not a SELECT.
    def changes_data? = !statements.all?(&:select?)

    private

    def parsed(line)
      JSON.parse(line)
    rescue JSON::ParserError
      raise DriverContract.bad_job("the job is not JSON")
    end

    def take_endpoint(fields)
      case kind = fields.take("kind", :text)
      when "tcp" then @host, @port = fields.take("host", :text), fields.take("port", :whole)
      when "unix" then @socket_path = fields.take("path", :text)
      else raise DriverContract.bad_job("endpoint.kind is neither tcp nor unix: #{kind}")
      end
      fields.end
    end

    def take_account(fields)
      @user, @password = fields.take("user", :text), fields.take("password", :text)
      @database = fields.maybe("database", :text)
      fields.end
    end

    # What only the engine does is a bad job here, unless it is left at what means nothing.
    def take_workload(fields, work)
      unless fields.maybe("schedule", :object, { "mode" => "closed" }) == { "mode" => "closed" }
        raise DriverContract.bad_job("a driver works in a closed loop only")
      end

      fields.refuse("reset", "a driver does all operations in one go and puts no data back")
      fields.ignore("rounds", "threads", "source_addresses", "attributes")
      work.refuse("mix", "a driver runs statements, not a mix of transactions")
      work.refuse("storm", "a driver runs statements, not a storm")
      protocol = work.maybe("protocol", :text, "text")
      @reconnect, @on_connect = work.maybe("reconnect", :truth, false), work.maybe("on_connect", :list, [])
      @statements = work.take("statements", :list).map { |document| Statement.new(document, protocol) }
      work.end
    end

    def take_driver(fields)
      @options = fields.maybe("options", :object, {}).transform_values { |word| option_of(word) }
      @steady_within_s = fields.maybe("steady_within_s", :number, 0)
      unless fields.maybe("batch", :whole, 1) == 1
        raise DriverContract.bad_job("driver.batch: this driver has no call for many operations at once")
      end

      fields.end
    end

    def take_course(fields)
      @connections, @cpus = fields.take("connections", :whole), fields.maybe("cpus", :list, [])
      @warmup_s, @duration_s = fields.maybe("warmup_s", :number, 0.1), fields.take("duration_s", :number)
      @operations, @timeout_s = fields.maybe("operations", :whole), fields.maybe("timeout_s", :number, 10.0)
      @seed, @row_samples = fields.take("seed", :number), fields.maybe("row_samples", :whole, 16)
    end

    # An option's value: a truth or a whole number where it reads as one, anything else is text.
    def option_of(word)
      case word
      when /\Atrue\z/i then true
      when /\Afalse\z/i then false
      when /\A-?\d+\z/ then word.to_i
      else word
      end
    end

    def tls_of(fields)
      mode = fields.take("mode", :text)
      tls =
        case mode
        when "off" then Tls.new(mode:)
        when "unset", "required" then Tls.new(mode:, trusted_ca_file: fields.maybe("trusted_ca_file", :text))
        when "on" then tls_that_is_on(fields)
        else raise DriverContract.bad_job("tls.mode is not one of unset, required, off and on: #{mode}")
        end
      fields.end
      tls
    end

    def tls_that_is_on(fields)
      UNTOLD.each { |name| fields.refuse(name, "this driver cannot be told") }
      unless fields.maybe("server_name", :text, @host) == @host
        raise DriverContract.bad_job("tls.server_name: mysql2 compares the certificate with the host it connects to")
      end

      Tls.new(
        mode: "on", versions: versions_of(fields), verify: fields.maybe("verify", :text, "none"),
        ca_file: fields.maybe("ca_file", :text), certificate_file: fields.maybe("certificate_file", :text),
        key_file: fields.maybe("key_file", :text)
      )
    end

    # The versions to keep to; none where the job leaves it to the driver.
    def versions_of(fields)
      bounds = %w[min max].map { |end_| fields.maybe("#{end_}_version", :text) }
      return [] if bounds.none?

      low = TLS_VERSIONS.index(bounds[0] || TLS_VERSIONS.first)
      high = TLS_VERSIONS.index(bounds[1] || TLS_VERSIONS.last)
      unless low && high
        raise DriverContract.bad_job("tls.min_version and tls.max_version are of #{TLS_VERSIONS.join(', ')}")
      end

      TLS_VERSIONS[low..high]
    end
  end
end
