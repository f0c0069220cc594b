// Tests of the names that are told of what was agreed on.
package adapter

import "testing"

func TestCiphersHaveOpenSSLsNames(t *testing.T) {
	for registered, want := range map[string]string{
		"TLS_AES_128_GCM_SHA256":                        "TLS_AES_128_GCM_SHA256",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256":         "ECDHE-RSA-AES128-GCM-SHA256",
		"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256":   "ECDHE-RSA-CHACHA20-POLY1305",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
		"TLS_RSA_WITH_AES_256_CBC_SHA":                  "AES256-SHA",
		"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256":       "ECDHE-ECDSA-AES128-SHA256",
	} {
		if got := cipherName(registered); got != want {
			t.Error(registered, got)
		}
	}
}
