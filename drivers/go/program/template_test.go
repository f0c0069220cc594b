// Tests of statements: what is put in, what is refused, and that numbers in sequence are given once.
package program

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func compiled(t *testing.T, statement Statement) *program {
	t.Helper()
	made, failure := compile(&Workload{Protocol: "text", Statements: []Statement{statement}})
	if failure != nil {
		t.Fatal(failure.message)
	}
	return made
}

func TestLiterals(t *testing.T) {
	for _, one := range []struct {
		value any
		want  string
	}{{int64(-5), "-5"}, {"it's", "'it''s'"}, {`a\b`, "X'615c62'"}} {
		if got := literal(one.value); got != one.want {
			t.Errorf("literal(%v) = %s, want %s", one.value, got, one.want)
		}
	}
}

func TestValuesAreFilledInWhereTheyBelong(t *testing.T) {
	made := compiled(t, Statement{SQL: "SELECT '{{x}}', {high}, {id}, {text}, {id}", Parameters: map[string]Parameter{
		"id": {Kind: "uniform_int", Low: 3, High: 5}, "high": {Kind: "offset", Of: "id", By: 100},
		"text": {Kind: "digits", Template: "#-#"},
	}}).templates[0]
	if made.preparable != "SELECT '{x}', ?, ?, ?, ?" {
		t.Error(made.preparable)
	}
	random, values := rand.New(rand.NewPCG(1, 1)), []any{}
	for _, draw := range made.makers {
		values = append(values, draw(random, values, nil))
	}
	if !regexp.MustCompile(`^SELECT '\{x\}', 10([345]), ([345]), '\d-\d', ([345])$`).MatchString(made.render(values)) {
		t.Error(made.render(values))
	}
	bound := made.bound(values)
	if len(bound) != 4 || bound[1] != bound[3] || bound[0] != bound[1].(int64)+100 {
		t.Error(bound)
	}
}

func TestNumbersInSequenceAreGivenOnceAndRunOut(t *testing.T) {
	repeat := 2
	made := compiled(t, Statement{SQL: "SELECT {id}", Repeat: &repeat, Parameters: map[string]Parameter{
		"id": {Kind: "sequence", First: 1, Last: 5},
	}})
	stock, numbers := &supply{sequences: made.sequences}, map[*sequence]int64{}
	for _, want := range []int64{1, 3} {
		if !stock.reserve(numbers) || numbers[made.sequences[0]] != want {
			t.Error(numbers, want)
		}
	}
	if stock.reserve(numbers) || !stock.stopped.Load() {
		t.Error("an operation was started with too few numbers left")
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for sql, want := range map[string]string{"SELECT {key}": "{key}", "SELECT {": "brace", "SELECT }": "brace"} {
		_, failure := compile(&Workload{Protocol: "text", Statements: []Statement{{SQL: sql}}})
		if failure == nil || !strings.Contains(failure.message, want) {
			t.Error(sql, failure)
		}
	}
}
