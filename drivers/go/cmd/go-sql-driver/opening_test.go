// Tests of what the driver is told: where the server is, and options, which win.
package main

import (
	"testing"

	"tlstax/probes/drivers/go/adapter"
)

func TestADataSourceNameHasThePlaceTheSchemaAndTheOptions(t *testing.T) {
	schema := "a/b"
	for want, setup := range map[string]*adapter.Setup{
		"tcp([::1]:3306)/?": {Endpoint: adapter.Endpoint{Kind: "tcp", Host: "::1", Port: 3306}},
		"unix(/run/a b.sock)/a%2Fb?": {
			Endpoint: adapter.Endpoint{Kind: "unix", Path: "/run/a b.sock"},
			Account:  adapter.Account{Database: &schema},
		},
		"tcp(h:1)/?tls=true": {
			Endpoint: adapter.Endpoint{Kind: "tcp", Host: "h", Port: 1}, TLS: adapter.TLS{Mode: "required"},
		},
		"tcp(h:1)/?maxAllowedPacket=0&tls=true": {
			Endpoint: adapter.Endpoint{Kind: "tcp", Host: "h", Port: 1}, TLS: adapter.TLS{Mode: "off"},
			Options: map[string]string{"tls": "true", "maxAllowedPacket": "0"},
		},
	} {
		if got := dsn(setup); got != want {
			t.Error(got, want)
		}
		if _, err := configure(setup); err != nil {
			t.Error(want, err)
		}
	}
}
