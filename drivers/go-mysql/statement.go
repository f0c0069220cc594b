// Statements with placeholders, compiled once, and the values that are put into them.
package main

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// sequence gives each number once; an operation takes `each` of them.
type sequence struct{ next, last, each int64 }

// statement is a template: `texts` with a value between each two, the one that `slots` names.
type statement struct {
	texts    []string
	slots    []int
	makers   []func(w *worker) any
	repeat   int
	prepared bool
	asks     bool
}

var placeholder = strings.NewReplacer("{{", "\x00", "}}", "\x01")
var brace = strings.NewReplacer("\x00", "{", "\x01", "}")

// compile makes a statement; the sequences that it takes numbers of are appended.
func compile(terms *statementTerms, protocol string, sequences *[]*sequence) (*statement, *failure) {
	if terms.Protocol != nil {
		protocol = *terms.Protocol
	}
	made := &statement{repeat: terms.Repeat, prepared: protocol == "prepared"}
	if made.repeat < 1 || (protocol != "text" && protocol != "prepared") {
		return nil, badJob("a statement is run at least once, by the protocol text or prepared: %s", terms.SQL)
	}
	names := make([]string, 0, len(terms.Parameters))
	for name := range terms.Parameters {
		names = append(names, name)
	}
	// An offset comes after what it is an offset of.
	slices.SortFunc(names, func(a, b string) int {
		if late := offsets(terms, a) - offsets(terms, b); late != 0 {
			return late
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		drawn, reason := makerOf(terms.Parameters[name], names, int64(made.repeat), sequences)
		if reason != "" {
			return nil, badJob("parameter %s: %s", name, reason)
		}
		made.makers = append(made.makers, drawn)
	}
	rest := placeholder.Replace(terms.SQL)
	for {
		text, after, more := strings.Cut(rest, "{")
		made.texts = append(made.texts, brace.Replace(text))
		if !more {
			break
		}
		name, left, closed := strings.Cut(after, "}")
		slot := slices.Index(names, name)
		if !closed || slot < 0 {
			return nil, badJob("a placeholder has no parameter of its name in: %s", terms.SQL)
		}
		made.slots, rest = append(made.slots, slot), left
	}
	words := strings.Fields(made.texts[0])
	made.asks = len(words) > 0 && strings.EqualFold(words[0], "SELECT")
	return made, nil
}

func offsets(terms *statementTerms, name string) int {
	if terms.Parameters[name].Kind == "offset" {
		return 1
	}
	return 0
}

// makerOf is how a parameter's values are made, or why there are none.
func makerOf(one parameter, names []string, each int64, sequences *[]*sequence) (func(*worker) any, string) {
	switch one.Kind {
	case "uniform_int":
		if one.High < one.Low {
			return nil, "high must not be less than low"
		}
		width := uint64(one.High-one.Low) + 1
		return func(w *worker) any { return one.Low + int64(w.random.Uint64N(width)) }, ""
	case "sequence":
		place := len(*sequences)
		*sequences = append(*sequences, &sequence{next: one.First, last: one.Last, each: each})
		return func(w *worker) any {
			w.numbers[place]++
			return w.numbers[place] - 1
		}, ""
	case "offset":
		slot := slices.Index(names, one.Of)
		if slot < 0 {
			return nil, "it is an offset of " + one.Of + ", which is none of this statement's parameters"
		}
		return func(w *worker) any {
			base, _ := w.values[slot].(int64)
			return base + one.By
		}, ""
	case "digits":
		return func(w *worker) any { return digits(one.Template, w.random) }, ""
	case "one_of":
		if len(one.Values) == 0 {
			return nil, "values must not be empty"
		}
		return func(w *worker) any { return one.Values[w.random.IntN(len(one.Values))] }, ""
	}
	return nil, fmt.Sprintf("there is no kind %q", one.Kind)
}

func digits(template string, random *rand.Rand) string {
	text := []byte(template)
	for place, char := range text {
		if char == '#' {
			text[place] = byte('0' + random.IntN(10))
		}
	}
	return string(text)
}

// marked is the statement to prepare.
func (s *statement) marked() string { return strings.Join(s.texts, "?") }

// literal is the statement with its values put in.
func (s *statement) literal(values []any) string {
	var sql strings.Builder
	for place, text := range s.texts {
		sql.WriteString(text)
		if place < len(s.slots) {
			sql.WriteString(literal(values[s.slots[place]]))
		}
	}
	return sql.String()
}

// bound are the values in the order of the question marks.
func (s *statement) bound(values []any) []any {
	arguments := make([]any, len(s.slots))
	for place, slot := range s.slots {
		arguments[place] = values[slot]
	}
	return arguments
}

// literal is a value as it stands in a statement. What a backslash means depends on the session's sql_mode, so
// a text with one is written in hexadecimal.
func literal(value any) string {
	switch value := value.(type) {
	case int64:
		return strconv.FormatInt(value, 10)
	case string:
		if strings.Contains(value, `\`) {
			return "X'" + hex.EncodeToString([]byte(value)) + "'"
		}
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	}
	panic(fmt.Sprintf("%T is no value of a parameter", value))
}
