package cli

import "github.com/spf13/pflag"

// setting is something that says how a cluster is reached: a flag, a variable and a line of a context.
type setting struct {
	name     string // of the flag and in a context
	variable string
	hint     string // stands for the value in the help
	help     string
	fallback string
}

// The settings, by name. A setting whose name is also a setting of hosts, with a different meaning, has a variable of
// its own, so that a shell can have both.
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

// settings are all settings of a context, in the order in which commands show settings.
var settings = []setting{
	{settingEndpoints, "SIGNALBOX_ENDPOINTS", "HOST:PORT,...",
		"Addresses of some hosts of the cluster. The other hosts are found through them", "127.0.0.1:7420"},
	{settingTokenFile, tokenFileVariable, "FILE",
		"File with the access token. Reloaded for each connection", ""},
	{settingTLS, "SIGNALBOX_CLIENT_TLS", "BOOL", "Use TLS. Any other TLS setting turns it on too", ""},
	{settingTLSCA, "SIGNALBOX_CACERT", "FILE",
		"File with the CAs that sign host certificates, PEM. Default: the CAs of the system", ""},
	{settingTLSCert, "SIGNALBOX_CLIENT_TLS_CERT", "FILE", "Client certificate file, PEM", ""},
	{settingTLSKey, "SIGNALBOX_CLIENT_TLS_KEY", "FILE", "Private key file of the client certificate, PEM", ""},
	{settingServerName, "SIGNALBOX_CLIENT_TLS_SERVER_NAME", "NAME",
		"Name that host certificates must have. Default: the host part of each address", ""},
	{settingTimeout, "SIGNALBOX_TIMEOUT", "DURATION",
		"Maximum time to wait for an answer of the cluster, such as 500ms, 10s or 1m", "10s"},
}

// Variables of the environment besides those of the settings.
const (
	// TokenVariable is the token itself. There is no flag for the token, because everybody on a machine can read the
	// arguments of a process, and only the owner the environment.
	TokenVariable    = "SIGNALBOX_TOKEN"
	ContextVariable  = "SIGNALBOX_CONTEXT"
	ContextsVariable = "SIGNALBOX_CONTEXT_FILE"
	OutputVariable   = "SIGNALBOX_OUTPUT"
)

// Flags that are no settings of a context.
const (
	contextFlag = "context"
	outputFlag  = "output"
)

// Variables returns all variables of the environment that client commands read.
func Variables() []string {
	return append(Map(settings, func(s setting) string { return s.variable }),
		TokenVariable, ContextVariable, ContextsVariable, OutputVariable)
}

// addSettings adds a flag for each setting.
func addSettings(set *pflag.FlagSet) {
	for _, s := range settings {
		set.Var(&text{kind: s.hint}, s.name, s.help)
	}
	set.Lookup(settingTLS).NoOptDefVal = "true"
}

// text is a flag that keeps its text. The user of the flag parses the text, as the text of any further source.
type text struct{ kind, given string }

func (t *text) Set(value string) error { t.given = value; return nil }
func (t *text) String() string         { return t.given }
func (t *text) Type() string           { return t.kind }
