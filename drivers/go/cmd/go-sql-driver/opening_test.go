// Tests of what the driver is told: where the server is, and options, which win.
package main

import (
	"testing"

	"tlstax/probes/drivers/go/program"
)

func TestADataSourceNameHasThePlaceTheSchemaAndTheOptions(t *testing.T) {
	schema := "a/b"
	for want, job := range map[string]*program.Job{
		"tcp([::1]:3306)/?": {Endpoint: program.Endpoint{Kind: "tcp", Host: "::1", Port: 3306}},
		"unix(/run/a b.sock)/a%2Fb?": {
			Endpoint: program.Endpoint{Kind: "unix", Path: "/run/a b.sock"},
			Account:  program.Account{Database: &schema},
		},
		"tcp(h:1)/?tls=true": {
			Endpoint: program.Endpoint{Kind: "tcp", Host: "h", Port: 1}, TLS: program.TLS{Mode: "required"},
		},
		"tcp(h:1)/?maxAllowedPacket=0&tls=true": {
			Endpoint: program.Endpoint{Kind: "tcp", Host: "h", Port: 1}, TLS: program.TLS{Mode: "off"},
			Driver: &program.DriverTerms{Options: map[string]string{"tls": "true", "maxAllowedPacket": "0"}},
		},
	} {
		if job.Driver == nil {
			job.Driver = &program.DriverTerms{}
		}
		if got := dsn(job); got != want {
			t.Error(got, want)
		}
		if _, err := configure("go-sql-driver-1.9", job); err != nil {
			t.Error(want, err)
		}
	}
}
