// What crypto/tls is told of encryption, and what it says was agreed on.
package adapter

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
)

var tlsVersions = map[string]uint16{
	"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

// Config is what crypto/tls is told where encryption is on. The server's name is the one asked for, or none.
func (t *TLS) Config() (*tls.Config, error) {
	config := &tls.Config{InsecureSkipVerify: t.Verify != "identity"}
	if t.MinVersion != nil {
		config.MinVersion = tlsVersions[*t.MinVersion]
	}
	if t.MaxVersion != nil {
		config.MaxVersion = tlsVersions[*t.MaxVersion]
	}
	if t.ServerName != nil {
		config.ServerName = *t.ServerName
	}
	if t.CAFile != nil {
		text, err := os.ReadFile(*t.CAFile)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, BadJob("tls.ca_file %s holds no certificate that can be read", *t.CAFile)
		}
	}
	if t.CertificateFile != nil && t.KeyFile != nil {
		own, err := tls.LoadX509KeyPair(*t.CertificateFile, *t.KeyFile)
		if err != nil {
			return nil, BadJob("the client certificate of tls.certificate_file cannot be used: %s", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	if t.Verify == "ca" {
		roots := config.RootCAs
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(&state, roots) }
	}
	return config, nil
}

// verifyChain checks who signed, and not for which host: crypto/tls does both or neither.
func verifyChain(state *tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}

// groupNames are IANA's names of the groups that crypto/tls calls otherwise.
var groupNames = map[tls.CurveID]string{
	tls.X25519: "x25519", tls.CurveP256: "secp256r1", tls.CurveP384: "secp384r1", tls.CurveP521: "secp521r1",
}

// view is what was agreed on.
type view struct {
	Version string  `json:"version"`
	Cipher  string  `json:"cipher"`
	Resumed bool    `json:"resumed"`
	Group   *string `json:"group,omitempty"`
}

// viewOf names what was agreed on as OpenSSL prints it, groups as IANA's registry has them; nil in the clear.
func viewOf(state *tls.ConnectionState) *view {
	if state == nil {
		return nil
	}
	told := &view{
		Version: "TLSv" + strings.TrimPrefix(tls.VersionName(state.Version), "TLS "),
		Cipher:  cipherName(tls.CipherSuiteName(state.CipherSuite)),
		Resumed: state.DidResume,
	}
	if state.CurveID != 0 {
		name, known := groupNames[state.CurveID]
		if !known {
			name = fmt.Sprint(state.CurveID)
		}
		told.Group = &name
	}
	return told
}

// cipherName turns IANA's name of a cipher suite into OpenSSL's; those of TLS 1.3 have one name.
func cipherName(registered string) string {
	exchange, cipher, found := strings.Cut(strings.TrimPrefix(registered, "TLS_"), "_WITH_")
	if !found {
		return registered
	}
	if strings.HasPrefix(cipher, "CHACHA20") {
		cipher = "CHACHA20-POLY1305"
	}
	cipher = strings.NewReplacer("AES_", "AES", "_CBC", "", "_", "-").Replace(cipher)
	if exchange == "RSA" {
		return cipher
	}
	return strings.ReplaceAll(exchange, "_", "-") + "-" + cipher
}
