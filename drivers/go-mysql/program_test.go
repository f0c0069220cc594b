// What the program does by itself: literals, placeholders, the rule of steadiness, names of suites.
package main

import (
	"math/rand/v2"
	"testing"
)

func compiled(t *testing.T, terms statementTerms) *statement {
	t.Helper()
	terms.Repeat = 1
	made, wrong := compile(&terms, "text", &[]*sequence{})
	if wrong != nil {
		t.Fatal(wrong.message)
	}
	return made
}

func TestValuesArePutInAsLiterals(t *testing.T) {
	made := compiled(t, statementTerms{
		SQL: "SELECT {{}}, {n}, {t}, {n}",
		Parameters: map[string]parameter{
			"n": {Kind: "uniform_int", Low: 7, High: 7}, "t": {Kind: "one_of", Values: []string{`it's`}},
		},
	})
	w := &worker{random: rand.New(rand.NewPCG(1, 1))}
	for _, draw := range made.makers {
		w.values = append(w.values, draw(w))
	}
	if got := made.literal(w.values); got != "SELECT {}, 7, 'it''s', 7" {
		t.Error(got)
	}
	if got := made.marked(); got != "SELECT {}, ?, ?, ?" || len(made.bound(w.values)) != 3 || !made.asks {
		t.Error(got)
	}
	if got := literal(`a\b`); got != "X'615c62'" {
		t.Error(got)
	}
}

func TestAnOffsetIsDrawnAfterWhatItIsOf(t *testing.T) {
	made := compiled(t, statementTerms{
		SQL: "SELECT {first}, {z}",
		Parameters: map[string]parameter{
			"first": {Kind: "offset", Of: "z", By: 9}, "z": {Kind: "uniform_int", Low: 1, High: 1},
		},
	})
	w := &worker{random: rand.New(rand.NewPCG(1, 1))}
	for _, draw := range made.makers {
		w.values = append(w.values, draw(w))
	}
	if got := made.literal(w.values); got != "SELECT 10, 1" {
		t.Error(got)
	}
}

func TestAPlaceholderWithoutParameterIsABadJob(t *testing.T) {
	for _, sql := range []string{"SELECT {id}", "SELECT {id"} {
		if _, wrong := compile(&statementTerms{SQL: sql, Repeat: 1}, "text", &[]*sequence{}); wrong == nil {
			t.Error(sql)
		}
	}
}

func TestSteadyIsWhenCPUPerOperationFallsNoMore(t *testing.T) {
	falling, level := []slice{}, []slice{}
	for place := range 10 {
		falling = append(falling, slice{Operations: 10, CPUUs: float64(1000 - 90*place)})
		level = append(level, slice{Operations: 10, CPUUs: 100})
	}
	if isSteady(falling) || isSteady(level[:9]) || !isSteady(level) {
		t.Error("steady when it is not, or not when it is")
	}
}

func TestSuitesHaveTheNamesThatOpenSSLPrints(t *testing.T) {
	for registered, printed := range map[string]string{
		"TLS_AES_128_GCM_SHA256":                        "TLS_AES_128_GCM_SHA256",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256":         "ECDHE-RSA-AES128-GCM-SHA256",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
		"TLS_RSA_WITH_AES_256_CBC_SHA":                  "AES256-SHA",
	} {
		if got := cipherName(registered); got != printed {
			t.Error(got)
		}
	}
}
