// libpq's words, which drivers of PostgreSQL in Go have taken over ("Parameter Key Words").
package adapter

import (
	"slices"
	"strconv"
	"strings"
)

// modes are libpq's words for how much of a certificate is verified.
var modes = map[string]string{"none": "require", "ca": "verify-ca", "identity": "verify-full"}

// LibpqWords are what is said of the endpoint, the account and encryption, and then the options, which win.
func (s *Setup) LibpqWords() string {
	words := map[string]string{"user": s.Account.User, "password": s.Account.Password}
	if s.Account.Database != nil {
		words["dbname"] = *s.Account.Database
	}
	if folder, port, found := strings.Cut(s.Endpoint.Path, "/.s.PGSQL."); found {
		words["host"], words["port"] = folder, port
	} else {
		words["host"], words["port"] = s.Endpoint.Host, strconv.Itoa(s.Endpoint.Port)
	}
	s.TLS.addLibpqWords(words)
	for name, value := range s.Options {
		words[name] = value
	}
	names := make([]string, 0, len(words))
	for name := range words {
		names = append(names, name)
	}
	slices.Sort(names)
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	said := make([]string, len(names))
	for place, name := range names {
		said[place] = name + "='" + escaped.Replace(words[name]) + "'"
	}
	return strings.Join(said, " ")
}

func (t *TLS) addLibpqWords(words map[string]string) {
	switch t.Mode {
	case "off":
		words["sslmode"] = "disable"
	case "required":
		words["sslmode"] = "require"
	case "on":
		words["sslmode"] = modes[t.Verify]
		for name, value := range map[string]*string{
			"sslcert": t.CertificateFile, "sslkey": t.KeyFile,
			"ssl_min_protocol_version": libpqVersion(t.MinVersion),
			"ssl_max_protocol_version": libpqVersion(t.MaxVersion),
		} {
			if value != nil {
				words[name] = *value
			}
		}
		if t.CAFile != nil && t.Verify != "none" {
			words["sslrootcert"] = *t.CAFile
		}
		if t.Direct {
			words["sslnegotiation"] = "direct"
		}
	}
}

func libpqVersion(version *string) *string {
	if version == nil {
		return nil
	}
	named := strings.Replace("TLSv"+*version, "v1.0", "v1", 1)
	return &named
}
