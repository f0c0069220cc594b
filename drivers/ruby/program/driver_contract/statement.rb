# Statements with placeholders, filled in with values that are drawn for each run.
# frozen_string_literal: true

require "driver_contract/fields"

module DriverContract
  # A sequence has given its last number: the window ends, and that is no error.
  class Exhausted < StandardError; end

  # One statement: texts and the names of values in turn, how values are drawn, and how it is sent.
  class Statement
    PIECE = /(\{\{|\}\}|\{[^{}]*\}|[{}])/

    attr_reader :repeat, :prepared, :marked

    # From the job's document. Raises Failure (bad_job).
    def initialize(document, protocol)
      fields = Fields.new(document, "statement")
      sql = fields.take("sql", :text)
      parameters = fields.maybe("parameters", :object, {})
      own = fields.maybe("protocol", :text, protocol)
      @repeat = fields.maybe("repeat", :whole, 1)
      fields.end
      raise DriverContract.bad_job("protocol is neither text nor prepared: #{own}") unless %w[text prepared].include?(own)

      @prepared = own == "prepared"
      @texts, @names = pieces(sql, parameters)
      @marked = @texts.join("?")
      @draws = Draws.new(parameters)
    end

    # Whether it only reads.
    def select? = @texts.first.match?(/\A\s*SELECT/i)

    # Values for one run, in the order of the placeholders. Raises Exhausted.
    def draw(random) = @draws.drawn(random).values_at(*@names)

    # The statement as text, with the values put in.
    def literal(values)
      values.each_with_index.inject(@texts.first) do |sql, (value, place)|
        sql + Statement.literal_of(value) + @texts[place + 1]
      end
    end

    # A value as it stands in a statement, whatever the session's sql_mode says of backslashes.
    def self.literal_of(value)
      return value.to_s if value.is_a?(Integer)
      return "_utf8mb4 0x#{value.unpack1('H*')}" if value.include?("\\")

      "'#{value.gsub("'", "''")}'"
    end

    private

    def pieces(sql, parameters)
      texts, names = [+""], []
      sql.split(PIECE).each do |word|
        case word
        when "{{", "}}" then texts.last << word[0]
        when "{", "}" then raise DriverContract.bad_job("a brace stands alone (write it twice) in: #{sql}")
        when PIECE
          name = word[1..-2]
          raise DriverContract.bad_job("placeholder #{word} has no parameter of that name") unless parameters.key?(name)

          names << name
          texts << +""
        else texts.last << word
        end
      end
      [texts, names]
    end
  end

  # How a statement's values are drawn, so ordered that what an offset counts from comes before it.
  class Draws
    def initialize(parameters)
      @parameters = parameters
      draws = parameters.to_h { |name, document| [name, draw_of(name, document)] }
      @draws = draws.sort_by { |name, _| depth(name) }
    end

    # A value of each name. Raises Exhausted.
    def drawn(random)
      @draws.each_with_object({}) { |(name, draw), drawn| drawn[name] = draw.call(random, drawn) }
    end

    private

    def depth(name, seen = [])
      raise DriverContract.bad_job("parameter #{name} is an offset of itself") if seen.include?(name)

      of = @parameters[name]["of"]
      of ? 1 + depth(of, [*seen, name]) : 0
    end

    def draw_of(name, document)
      fields = Fields.new(document, "parameter #{name}")
      kind = fields.take("kind", :text)
      draw =
        case kind
        when "uniform_int" then uniform(fields.take("low", :whole), fields.take("high", :whole))
        when "sequence" then sequence(fields.take("first", :whole), fields.take("last", :whole))
        when "offset" then offset(name, fields.take("of", :text), fields.take("by", :whole))
        when "digits" then digits(fields.take("template", :text))
        when "one_of" then one_of(fields.take("values", :list))
        else raise DriverContract.bad_job("parameter #{name} is of a kind that this client does not know: #{kind}")
        end
      fields.end
      draw
    end

    def uniform(low, high)
      raise DriverContract.bad_job("uniform_int has nothing between #{low} and #{high}") if low > high

      ->(random, _) { random.rand(low..high) }
    end

    # Each number once, over all connections of the job.
    def sequence(following, last)
      lock = Mutex.new
      lambda do |_, _|
        lock.synchronize do
          raise Exhausted if following > last

          following += 1
          following - 1
        end
      end
    end

    def offset(name, of, by)
      unless @parameters.key?(of)
        raise DriverContract.bad_job("parameter #{name} is an offset of #{of}, which is none")
      end

      ->(_, drawn) { drawn[of] + by }
    end

    def digits(template)
      ->(random, _) { template.gsub(/#+/) { |run| random.rand(10**run.size).to_s.rjust(run.size, "0") } }
    end

    def one_of(values)
      raise DriverContract.bad_job("one_of has no values") if values.empty?

      ->(random, _) { values[random.rand(values.size)] }
    end
  end
end
