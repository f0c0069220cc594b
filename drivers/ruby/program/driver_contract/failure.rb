# What went wrong, in the contract's words, from whatever mysql2 raised.
# frozen_string_literal: true

module DriverContract
  # A failure as the contract tells it; `lost` says that the connection is of no more use.
  class Failure < StandardError
    # Where to look, by the kind of a failure.
    FAULTS = {
      "bad_job" => "job", "resolve" => "job", "connect" => "network", "timeout" => "network", "not_mysql" => "server",
      "server_closed" => "server", "server_error" => "server", "access_denied" => "job", "no_tls" => "server",
      "tls_handshake" => "server", "certificate" => "server", "limits" => "client", "internal" => "client"
    }.freeze

    attr_reader :kind, :number, :lost

    def initialize(kind, message, number: nil, lost: false)
      super(message)
      @kind, @number, @lost = kind, number, lost
    end

    # The event that ends the job.
    def event
      { event: "error", kind:, fault: FAULTS.fetch(kind), fatal: true, message:, code: number, count: 1 }
    end
  end

  module_function

  # The job asks for what this client cannot do.
  def bad_job(message) = Failure.new("bad_job", message)

  # Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like (errmsg.h).
  LOGIN_REFUSED = [1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061].freeze

  # Kinds by the client library's numbers (errmsg.h).
  OF_LIBRARY = {
    1040 => "limits", 2002 => "connect", 2003 => "connect", 2005 => "resolve", 2006 => "server_closed",
    2013 => "server_closed", 2055 => "server_closed", 2007 => "not_mysql", 2012 => "not_mysql", 2027 => "not_mysql",
    2019 => "bad_job"
  }.freeze

  # What mysql2 or Ruby raised, while a connection was opened or later; `secret` is cut out of its words.
  def failure_of(error, secret, opening: false)
    return error if error.is_a?(Failure)

    words = error.message.dup.force_encoding("UTF-8").scrub.gsub(/\s+/, " ").strip
    words = words.gsub(secret, "(the password)") unless secret.empty?
    number = error.respond_to?(:error_number) ? error.error_number : nil
    number = nil unless number&.positive?
    kind = kind_of(error, number, words, opening)
    Failure.new(kind, "mysql2 says: #{words}", number:, lost: kind != "server_error")
  end

  def kind_of(error, number, words, opening)
    unless error.is_a?(Mysql2::Error)
      refused = error.is_a?(ArgumentError) || error.is_a?(TypeError) || error.is_a?(NameError)
      return opening && refused ? "bad_job" : "internal"
    end
    return "access_denied" if LOGIN_REFUSED.include?(number)
    return kind_of_tls(words) if number == 2026
    return OF_LIBRARY[number] if OF_LIBRARY.key?(number)
    return "server_error" if number && (number < 2000 || number >= 3000)
    # mysql2 itself refuses what it was given before it connects.
    return "bad_job" if number.nil? && opening

    words.match?(/authentication|public key/i) ? "access_denied" : "server_closed"
  end

  # The client library has one number for all that goes wrong with TLS, and its words.
  def kind_of_tls(words)
    return "no_tls" if words.include?("server does not support")

    words.match?(/certificate|verif|host ?name/i) ? "certificate" : "tls_handshake"
  end
end
