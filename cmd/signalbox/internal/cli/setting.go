package cli

import "github.com/spf13/pflag"

// setting is a connection setting: a flag, a variable and a line in a context.
type setting struct {
	name     string // in flags and contexts
	variable string
	hint     string // value placeholder in the help
	help     string
	fallback string
}

// Settings, by name. If a host setting has the same name with a different meaning, the setting has its own variable,
// so that a shell can set both.
const (
	settingEndpoints  = "endpoints"
	settingTokenFile  = "token-file"
	settingTLS        = "tls"
	settingTLSCA      = "tls-ca"
	settingTLSCert    = "tls-cert"
	settingTLSKey     = "tls-key"
	settingServerName = "tls-server-name"
	settingTimeout    = "timeout"

	tokenFileVariable = "SIGNALBOX_CLIENT_TOKEN_FILE"
)

// settings are all context settings, in display order.
var settings = []setting{
	{settingEndpoints, "SIGNALBOX_ENDPOINTS", "HOST:PORT,...",
		"Addresses of some hosts in the cluster. Commands discover the other hosts", "127.0.0.1:7420"},
	{settingTokenFile, tokenFileVariable, "FILE",
		"File with the access token. Reloaded for each connection", ""},
	{settingTLS, "SIGNALBOX_CLIENT_TLS", "BOOL", "Use TLS. Implied by any other TLS setting", ""},
	{settingTLSCA, "SIGNALBOX_CACERT", "FILE",
		"File with the CAs that sign host certificates, PEM. Default: the system CAs", ""},
	{settingTLSCert, "SIGNALBOX_CLIENT_TLS_CERT", "FILE", "Client certificate file, PEM", ""},
	{settingTLSKey, "SIGNALBOX_CLIENT_TLS_KEY", "FILE", "Private key file for the client certificate, PEM", ""},
	{settingServerName, "SIGNALBOX_CLIENT_TLS_SERVER_NAME", "NAME",
		"Name required in host certificates. Default: the host part of each address", ""},
	{settingTimeout, "SIGNALBOX_TIMEOUT", "DURATION",
		"Maximum time to wait for an answer from the cluster, such as 500ms, 10s or 1m", "10s"},
}

// Environment variables other than the settings' variables.
const (
	// TokenVariable contains the token itself. There is no flag for the token, because everyone on a machine can read
	// a process's arguments, but only its owner can read the environment.
	TokenVariable    = "SIGNALBOX_TOKEN"
	ContextVariable  = "SIGNALBOX_CONTEXT"
	ContextsVariable = "SIGNALBOX_CONTEXT_FILE"
	OutputVariable   = "SIGNALBOX_OUTPUT"
)

// Flags that are not context settings.
const (
	contextFlag = "context"
	outputFlag  = "output"
)

// Variables returns all environment variables that client commands read.
func Variables() []string {
	return append(Map(settings, func(s setting) string { return s.variable }),
		TokenVariable, ContextVariable, ContextsVariable, OutputVariable)
}

// addSettings adds a flag for every setting.
func addSettings(set *pflag.FlagSet) {
	for _, s := range settings {
		set.Var(&text{kind: s.hint}, s.name, s.help)
	}
	set.Lookup(settingTLS).NoOptDefVal = "true"
}

// text is a flag that keeps its text. The flag's user parses the text, in the same way as text from other sources.
type text struct{ kind, given string }

func (t *text) Set(value string) error { t.given = value; return nil }
func (t *text) String() string         { return t.given }
func (t *text) Type() string           { return t.kind }
