# A JSON object read field by field: what is missing, of another type or left over is a bad job.
# frozen_string_literal: true

require "driver_contract/failure"

module DriverContract
  # One JSON object of the job, of which every field is to be taken.
  class Fields
    FITS = {
      text: ->(value) { value.is_a?(String) }, whole: ->(value) { value.is_a?(Integer) },
      number: ->(value) { value.is_a?(Integer) || value.is_a?(Float) }, truth: ->(value) { [true, false].include?(value) },
      list: ->(value) { value.is_a?(Array) }, object: ->(value) { value.is_a?(Hash) }
    }.freeze

    def initialize(value, where)
      raise DriverContract.bad_job("#{where} is not an object in this job") unless value.is_a?(Hash)

      @left, @where = value.dup, where
    end

    # The field, which has this type.
    def take(name, type)
      value = maybe(name, type)
      raise DriverContract.bad_job("#{@where} has no #{name} in this job") if value.nil?

      value
    end

    # The field, or another value where it is absent or null.
    def maybe(name, type, otherwise = nil)
      value = @left.delete(name)
      return otherwise if value.nil?
      return value if FITS.fetch(type).call(value)

      raise DriverContract.bad_job("#{@where}.#{name} is not a #{type} in this job")
    end

    # A field that this client can do nothing with has to be empty, false or absent.
    def refuse(name, why)
      value = @left.delete(name)
      return if !value || value.respond_to?(:empty?) && value.empty?

      raise DriverContract.bad_job("#{@where}.#{name}: #{why}")
    end

    # Fields that have no meaning for this client.
    def ignore(*names) = names.each { |name| @left.delete(name) }

    # Nothing is left over.
    def end
      return if @left.empty?

      raise DriverContract.bad_job("#{@where} has a field that this client does not know: #{@left.keys.min}")
    end
  end
end
