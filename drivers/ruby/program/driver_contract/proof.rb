# What was negotiated, asked of each connection before measuring: the server's word, as mysql2 has none of its own.
# frozen_string_literal: true

module DriverContract
  # What connections said, counted.
  class Proof
    attr_reader :server_version

    def initialize
      @lock, @views, @server_version = Mutex.new, Hash.new(0), ""
    end

    # Ask this connection; whether the server says that it is encrypted.
    def ask(session)
      version = session.say("SELECT VERSION()").first.first
      server = server_view(version, session.say("SHOW SESSION STATUS LIKE 'Ssl%'").to_h)
      @lock.synchronize do
        @server_version = version
        @views[server] += 1
      end
      !server.nil?
    end

    # The contract's `negotiated`.
    def negotiated
      @views.map { |server, connections| { connections:, client: nil, server:, client_tells: false } }
    end

    private

    def server_view(version, said)
      return nil if said.fetch("Ssl_cipher", "").empty?

      # MariaDB's Ssl_sessions_reused stays 0 whatever happens.
      resumed = version.include?("MariaDB") ? nil : said["Ssl_sessions_reused"].to_i.positive?
      {
        version: said["Ssl_version"], cipher: said["Ssl_cipher"], resumed:, group: nil, hello_retry: nil,
        certificate_key: nil, certificate_sha256: nil
      }
    end
  end

  module_function

  # The OpenSSL that is mapped: its paths, and the version that stands in libcrypto; nil if there is not just one.
  def tls_library
    maps = File.read("/proc/self/maps")
    paths = %w[ssl crypto].map { |name| maps.scan(%r{/.*/lib#{name}\.so.*}).uniq }
    return nil unless paths.all? { |found| found.size == 1 }

    libssl_path, libcrypto_path = paths.flatten
    version = File.binread(libcrypto_path)[/OpenSSL \d+\.\d+\.\d+\S* +\d+ \w{3} \d{4}/n]
    version && { version:, libssl_path:, libcrypto_path: }
  end
end
