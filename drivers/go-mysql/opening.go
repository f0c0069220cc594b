// How a connection is opened: what the driver is told, and what its TLS connection says afterwards.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/driver"
)

// opener holds all that the driver's Connect is given.
type opener struct {
	address  string
	account  account
	database string
	timeout  time.Duration
	options  []client.Option
}

// connectOptions are the driver's own words for a connection, those of its data source name, and what it makes
// of them.
var connectOptions = map[string]driver.DriverOption{
	"compress":     driver.CompressOption,
	"collation":    driver.CollationOption,
	"readTimeout":  driver.ReadTimeoutOption,
	"writeTimeout": driver.WriteTimeoutOption,
}

func newOpener(asked *job) (*opener, *failure) {
	made := &opener{address: asked.Endpoint.Path, account: asked.Account, timeout: seconds(asked.TimeoutS)}
	if asked.Endpoint.Kind == "tcp" {
		made.address = net.JoinHostPort(asked.Endpoint.Host, strconv.Itoa(asked.Endpoint.Port))
	}
	if asked.Account.Database != nil {
		made.database = *asked.Account.Database
	}
	if asked.TLS.Mode == "on" {
		config, wrong := tlsConfig(&asked.TLS, asked.Endpoint.Host)
		if wrong != nil {
			return nil, wrong
		}
		made.options = append(made.options, func(c *client.Conn) error { c.SetTLSConfig(config); return nil })
	}
	if asked.TLS.Mode == "unset" && asked.TLS.TrustedCAFile != nil {
		// crypto/x509 reads it when the machine's trusted certificates are first asked for.
		_ = os.Setenv("SSL_CERT_FILE", *asked.TLS.TrustedCAFile)
	}
	for name, value := range asked.Driver.Options {
		if wrong := made.addOption(name, value); wrong != nil {
			return nil, wrong
		}
	}
	return made, nil
}

// addOption hands the driver an option after what the job says, so that it wins. It is tried on a connection that
// is none, so that a wrong value is told before anything is opened.
func (o *opener) addOption(name, value string) *failure {
	var err error
	if name == "timeout" {
		o.timeout, err = time.ParseDuration(value)
	} else if name == "ssl" && value == "true" {
		o.options = append(o.options, driver.UseSslOption)
	} else if name == "ssl" {
		return badJob("%s: the option ssl can only be true, not %s", clientName, value)
	} else if set, known := connectOptions[name]; known {
		err = set(new(client.Conn), value)
		o.options = append(o.options, func(c *client.Conn) error { return set(c, value) })
	} else {
		known := "collation, compress, readTimeout, ssl, timeout and writeTimeout"
		return badJob("%s has no option %s: there are %s", clientName, name, known)
	}
	if err != nil {
		return badJob("%s says: %s", clientName, err)
	}
	return nil
}

// open is the driver's whole connect.
func (o *opener) open() (*client.Conn, error) {
	return client.ConnectWithContext(context.Background(), o.address, o.account.User, o.account.Password,
		o.database, o.timeout, o.options...)
}

var tlsVersions = map[string]uint16{
	"1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13,
}

func tlsConfig(terms *tlsTerms, host string) (*tls.Config, *failure) {
	config := &tls.Config{InsecureSkipVerify: terms.Verify != "identity", ServerName: host}
	if terms.MinVersion != nil {
		config.MinVersion = tlsVersions[*terms.MinVersion]
	}
	if terms.MaxVersion != nil {
		config.MaxVersion = tlsVersions[*terms.MaxVersion]
	}
	if terms.ServerName != nil {
		config.ServerName = *terms.ServerName
	}
	if terms.CAFile != nil {
		text, err := os.ReadFile(*terms.CAFile)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, badJob("tls.ca_file %s holds no certificate that can be read", *terms.CAFile)
		}
	}
	if terms.CertificateFile != nil && terms.KeyFile != nil {
		own, err := tls.LoadX509KeyPair(*terms.CertificateFile, *terms.KeyFile)
		if err != nil {
			return nil, badJob("the client certificate of tls.certificate_file cannot be used: %s", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	if terms.Verify == "ca" {
		config.VerifyConnection = func(state tls.ConnectionState) error {
			return verifyChain(&state, config.RootCAs)
		}
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

// tlsView is what one side says was negotiated.
type tlsView struct {
	Version           string  `json:"version"`
	Cipher            string  `json:"cipher"`
	Resumed           *bool   `json:"resumed"`
	Group             *string `json:"group"`
	HelloRetry        *bool   `json:"hello_retry"`
	CertificateKey    *string `json:"certificate_key"`
	CertificateSha256 *string `json:"certificate_sha256"`
}

// groups are the names of IANA's registry; a group that is not among them is not told.
var groups = map[tls.CurveID]string{
	tls.X25519MLKEM768: "X25519MLKEM768", tls.X25519: "x25519", tls.CurveP256: "secp256r1",
	tls.CurveP384: "secp384r1", tls.CurveP521: "secp521r1",
}

// viewOf is what the driver's connection is over, nil in the clear.
func viewOf(connection *client.Conn) *tlsView {
	encrypted, is := connection.Conn.Conn.(*tls.Conn)
	if !is {
		return nil
	}
	state := encrypted.ConnectionState()
	view := &tlsView{
		Version: "TLSv" + strings.TrimPrefix(tls.VersionName(state.Version), "TLS "),
		Cipher:  cipherName(tls.CipherSuiteName(state.CipherSuite)),
		Resumed: &state.DidResume,
	}
	if group, known := groups[state.CurveID]; known {
		view.Group = &group
	}
	return view
}

// cipherName is OpenSSL's name for a suite of IANA's registry; those of TLS 1.3 have one name.
func cipherName(registered string) string {
	exchange, cipher, old := strings.Cut(strings.TrimPrefix(registered, "TLS_"), "_WITH_")
	if !old {
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
