// Statements with placeholders, compiled once, and the values that are put into them.
package program

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// piece is text, or the value in a slot where slot is not negative.
type piece struct {
	text string
	slot int
}

// template is a compiled statement.
type template struct {
	pieces     []piece
	prepared   bool
	preparable string
	repeat     int
	asks       bool
	makers     []maker
}

// maker draws the value of one slot: an int64 or a string. Those before it are already drawn.
type maker func(random *rand.Rand, values []any, take func(*sequence) int64) any

// program is the workload, compiled: its statements, and the sequences that they take numbers of.
type program struct {
	templates []*template
	sequences []*sequence
	selects   bool
}

// compile makes a program of a workload. A placeholder without a parameter is a bad_job.
func compile(workload *Workload) (*program, *Failure) {
	compiled := &program{selects: true}
	for place := range workload.Statements {
		statement := &workload.Statements[place]
		made, err := compiled.add(statement, workload.Protocol)
		if err != nil {
			return nil, err
		}
		compiled.templates = append(compiled.templates, made)
		compiled.selects = compiled.selects && made.asks
	}
	return compiled, nil
}

func (p *program) add(statement *Statement, protocol string) (*template, *Failure) {
	if statement.Protocol != nil {
		protocol = *statement.Protocol
	}
	made := &template{prepared: protocol == "prepared", repeat: 1}
	if statement.Repeat != nil {
		made.repeat = *statement.Repeat
	}
	if made.repeat < 1 || (protocol != "text" && protocol != "prepared") {
		return nil, BadJob("a statement is run at least once, by the protocol text or prepared: %s", statement.SQL)
	}
	slots, err := p.slots(statement, made)
	if err != nil {
		return nil, err
	}
	made.pieces, err = pieces(statement.SQL, slots)
	if err != nil {
		return nil, err
	}
	for _, part := range made.pieces {
		if part.slot >= 0 {
			made.preparable += "?"
		} else {
			made.preparable += part.text
		}
	}
	made.asks = startsWithSelect(made.preparable)
	return made, nil
}

func startsWithSelect(sql string) bool {
	words := strings.Fields(sql)
	return len(words) > 0 && strings.EqualFold(words[0], "SELECT")
}

// slots gives each parameter its place; what an offset is of comes before it.
func (p *program) slots(statement *Statement, made *template) ([]string, *Failure) {
	names := make([]string, 0, len(statement.Parameters))
	for name := range statement.Parameters {
		names = append(names, name)
	}
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int {
		return rank(statement.Parameters[a]) - rank(statement.Parameters[b])
	})
	for _, name := range names {
		drawn, reason := p.makerOf(statement.Parameters[name], names, made.repeat)
		if reason != "" {
			return nil, BadJob("parameter %s: %s", name, reason)
		}
		made.makers = append(made.makers, drawn)
	}
	return names, nil
}

func rank(parameter Parameter) int {
	if parameter.Kind == "offset" {
		return 1
	}
	return 0
}

// makerOf is how a parameter's values are made, or why there are none.
func (p *program) makerOf(parameter Parameter, names []string, repeat int) (maker, string) {
	switch parameter.Kind {
	case "uniform_int":
		if parameter.High < parameter.Low {
			return nil, "high must not be less than low"
		}
		low, width := parameter.Low, uint64(parameter.High-parameter.Low)+1
		return func(random *rand.Rand, _ []any, _ func(*sequence) int64) any {
			return low + int64(random.Uint64N(width))
		}, ""
	case "sequence":
		numbers := &sequence{next: parameter.First, last: parameter.Last, perOperation: int64(repeat)}
		p.sequences = append(p.sequences, numbers)
		return func(_ *rand.Rand, _ []any, take func(*sequence) int64) any { return take(numbers) }, ""
	case "offset":
		slot, by := slices.Index(names, parameter.Of), parameter.By
		if slot < 0 {
			return nil, "it is an offset of " + parameter.Of + ", which is none of this statement's parameters"
		}
		return func(_ *rand.Rand, values []any, _ func(*sequence) int64) any {
			base, _ := values[slot].(int64)
			return base + by
		}, ""
	case "digits":
		pattern := parameter.Template
		return func(random *rand.Rand, _ []any, _ func(*sequence) int64) any { return digits(pattern, random) }, ""
	case "one_of":
		if len(parameter.Values) == 0 {
			return nil, "values must not be empty"
		}
		texts := parameter.Values
		return func(random *rand.Rand, _ []any, _ func(*sequence) int64) any {
			return texts[random.IntN(len(texts))]
		}, ""
	}
	return nil, "there is no kind " + parameter.Kind
}

func digits(pattern string, random *rand.Rand) string {
	text := []byte(pattern)
	for place, char := range text {
		if char == '#' {
			text[place] = byte('0' + random.IntN(10))
		}
	}
	return string(text)
}

// pieces takes a statement apart at its placeholders.
func pieces(sql string, names []string) ([]piece, *Failure) {
	var parts []piece
	var text strings.Builder
	for rest := sql; rest != ""; {
		char := rest[0]
		if char != '{' && char != '}' {
			text.WriteByte(char)
			rest = rest[1:]
			continue
		}
		if len(rest) > 1 && rest[1] == char {
			text.WriteByte(char)
			rest = rest[2:]
			continue
		}
		ends := strings.IndexByte(rest, '}')
		if char == '}' || ends < 0 {
			return nil, BadJob("a brace stands alone (write it twice) in: %s", sql)
		}
		slot := slices.Index(names, rest[1:ends])
		if slot < 0 {
			return nil, BadJob("placeholder %s has no parameter of that name", rest[:ends+1])
		}
		parts = append(parts, piece{text: text.String(), slot: -1}, piece{slot: slot})
		text.Reset()
		rest = rest[ends+1:]
	}
	return append(parts, piece{text: text.String(), slot: -1}), nil
}

// render puts values into the text as literals.
func (t *template) render(values []any) string {
	var sql strings.Builder
	for _, part := range t.pieces {
		if part.slot < 0 {
			sql.WriteString(part.text)
		} else {
			sql.WriteString(literal(values[part.slot]))
		}
	}
	return sql.String()
}

// bound are the values in the order of the question marks.
func (t *template) bound(values []any) []any {
	arguments := make([]any, 0, len(values))
	for _, part := range t.pieces {
		if part.slot >= 0 {
			arguments = append(arguments, values[part.slot])
		}
	}
	return arguments
}

// literal is a value as it stands in a statement. What a backslash means depends on the session's sql_mode,
// so a text with one is written in hexadecimal.
func literal(value any) string {
	text, isText := value.(string)
	if !isText {
		number, _ := value.(int64)
		return strconv.FormatInt(number, 10)
	}
	if strings.Contains(text, `\`) {
		return "X'" + hex.EncodeToString([]byte(text)) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
