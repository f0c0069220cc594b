# What went wrong, as a kind of the contract's, from whatever mysql2 or pg raised.
# frozen_string_literal: true

module Adapter
  # A failure, whose message is the driver's words, or the adapter's own.
  class Failure < StandardError
    def initialize(kind, words, number: nil, by: "driver")
      super(words)
      @kind, @number, @by = kind, number, by
    end

    # Whether the connection is of no more use.
    def lost? = @kind != "server_error"

    # What is answered to the host.
    def answer = { failure: { kind: @kind, words: message, code: @number, by: @by } }
  end

  module_function

  # The job asks for what the driver cannot do.
  def bad_job(words) = Failure.new("bad_job", words, by: "adapter")

  # Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like (errmsg.h).
  LOGIN_REFUSED = [1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061].freeze

  # Kinds by the client library's numbers (errmsg.h).
  OF_LIBRARY = {
    1040 => "limits", 2002 => "connect", 2003 => "connect", 2005 => "resolve", 2006 => "server_closed",
    2013 => "server_closed", 2055 => "server_closed", 2007 => "not_mysql", 2012 => "not_mysql", 2027 => "not_mysql",
    2019 => "bad_job"
  }.freeze

  # Kinds by libpq's words, the first that fits.
  OF_LIBPQ = {
    /authentication failed|no pg_hba\.conf entry|no password supplied/ => "access_denied",
    /server does not support SSL/ => "no_tls",
    /invalid connection option|invalid sslmode value/ => "bad_job",
    /certificate/ => "certificate",
    /SSL/ => "tls_handshake",
    /could not translate host name/ => "resolve",
    /Connection refused|No such file/ => "connect"
  }.freeze

  # What mysql2, pg or Ruby raised, while a connection was opened or later.
  def failure_of(error, opening: false)
    return error if error.is_a?(Failure)

    words = error.message.dup.force_encoding("UTF-8").scrub
    return failure_of_postgres(error, words) if defined?(PG::Error) && error.is_a?(PG::Error)

    number = error.respond_to?(:error_number) ? error.error_number : nil
    number = nil unless number&.positive?
    Failure.new(kind_of(error, number, words, opening), words, number:)
  end

  # PostgreSQL's errors have a SQLSTATE; what libpq says itself has none.
  def failure_of_postgres(error, words)
    state = error.result&.error_field(PG::Result::PG_DIAG_SQLSTATE)
    return Failure.new(kind_of_state(state), words, number: state) if state

    kind = OF_LIBPQ.find { |said, _| words.match?(said) }&.last
    Failure.new(kind || "server_closed", words)
  end

  def kind_of_state(state)
    case state
    when /\A28/ then "access_denied"
    when "53300" then "limits"
    when /\A57P0[123]\z/ then "server_closed"
    else "server_error"
    end
  end

  def kind_of(error, number, words, opening)
    unless defined?(Mysql2::Error) && error.is_a?(Mysql2::Error)
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
