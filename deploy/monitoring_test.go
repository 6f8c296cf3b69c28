package deploy_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signalbox/signalbox/protocol"
)

// queryable returns a host's series, with all possible label values added.
func queryable(t *testing.T) series {
	s := metrics(t)
	s.label("signalbox_health_issues", "severity", "info", "warning", "critical")
	for number := range 64 {
		if status := protocol.Status(number).String(); strings.ToUpper(status) == status {
			s.label("signalbox_requests_failed_total", "status", strings.ToLower(status))
		}
	}
	return s
}

// elsewhere reports whether an expression needs metrics that only Linux has, on another system.
func elsewhere(expression string) bool {
	return runtime.GOOS != "linux" && strings.Contains(expression, "process_")
}

// dashboard is the subset of Grafana's dashboard format that the test reads.
type dashboard struct {
	UID        string
	Title      string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

type panel struct {
	ID      int
	Type    string
	Title   string
	GridPos struct{ H, W, X, Y int }
	Targets []struct{ RefID, Expr, LegendFormat string }
}

var labelValues = regexp.MustCompile(`^label_values\(([a-z_]+), ([a-z_]+)\)$`)

func TestVariablesOfTheDashboardHaveValues(t *testing.T) {
	known := queryable(t)
	names := make(map[string]bool)
	for _, v := range readDashboard(t).Templating.List {
		names[v.Name] = true
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(v.Definition)
		if m == nil || len(known[m[1]][m[2]]) == 0 {
			t.Errorf("the variable %s has no values: %s", v.Name, v.Definition)
		}
	}
	if !names["datasource"] || !names["instance"] {
		t.Errorf("the variables are %v", names)
	}
}

var legendLabel = regexp.MustCompile(`\{\{\s*([a-zA-Z_]+)\s*\}\}`)

// TestEveryQueryOfTheDashboardFindsWhatItAsksFor holds the dashboard against a real host.
func TestEveryQueryOfTheDashboardFindsWhatItAsksFor(t *testing.T) {
	known := queryable(t)
	d := readDashboard(t)
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			expression := filled(target.Expr)
			if elsewhere(expression) {
				continue
			}
			r, err := check(known, expression)
			if err != nil {
				t.Errorf("%s: %v", p.Title, err)
				continue
			}
			for _, m := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !r.labels[m[1]] {
					t.Errorf("%s: the legend %q needs %s, and there is only %v", p.Title, target.LegendFormat, m[1],
						slices.Sorted(maps.Keys(r.labels)))
				}
			}
		}
	}
}

// filled replaces Grafana's variables with values.
func filled(expression string) string {
	return strings.NewReplacer("$__rate_interval", "1m", `"$instance"`, `".*"`).Replace(expression)
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("grafana/signalbox.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPanelsOfTheDashboardLieBesideEachOther(t *testing.T) {
	d := readDashboard(t)
	if len(d.Panels) < 20 || d.UID == "" {
		t.Fatalf("%d panels, uid %q", len(d.Panels), d.UID)
	}
	ids := make(map[int]bool)
	taken := make(map[[2]int]string)
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		at := p.GridPos
		if at.X < 0 || at.X+at.W > 24 || at.W == 0 || at.H == 0 {
			t.Errorf("%q does not fit into the 24 columns: %+v", p.Title, at)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%q and %q lie over each other", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// rule is an alert.
type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

type rules struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

func readRules(t *testing.T) (all []rule) {
	t.Helper()
	var file rules
	readYAML(t, "prometheus/alerts.yaml", &file)
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

var alertLabel = regexp.MustCompile(`\{\{ \$labels\.([a-zA-Z_]+) \}\}`)

func TestEveryAlertAsksForWhatThereIs(t *testing.T) {
	known := queryable(t)
	for _, r := range readRules(t) {
		if elsewhere(r.Expr) {
			continue
		}
		found, err := check(known, r.Expr)
		if err != nil {
			t.Errorf("%s: %v", r.Alert, err)
			continue
		}
		for _, text := range r.Annotations {
			for _, m := range alertLabel.FindAllStringSubmatch(text, -1) {
				if !found.labels[m[1]] {
					t.Errorf("%s speaks of the label %s, and there is only %v", r.Alert, m[1],
						slices.Sorted(maps.Keys(found.labels)))
				}
			}
		}
	}
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	seen := make(map[string]bool)
	all := readRules(t)
	for _, r := range all {
		if !strings.HasPrefix(r.Alert, "Signalbox") || seen[r.Alert] {
			t.Errorf("%q is no name of its own for an alert", r.Alert)
		}
		seen[r.Alert] = true
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) {
			t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s needs a summary and a description", r.Alert)
		}
		if r.For != "" && !duration.MatchString(r.For) {
			t.Errorf("%s: for %q is no duration", r.Alert, r.For)
		}
	}
	if len(all) < 10 {
		t.Errorf("there are only %d alerts", len(all))
	}
}

// TestServiceLevelsAskForWhatThereIs checks the queries in docs/guides/service-levels.md with a real host's metrics.
func TestServiceLevelsAskForWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../docs/guides/service-levels.md")
	if err != nil {
		t.Fatal(err)
	}
	known := queryable(t)
	queries := strings.Split(string(page), "\n```promql\n")[1:]
	for _, query := range queries {
		query, _, _ = strings.Cut(query, "\n```\n")
		if _, err := check(known, query); err != nil {
			t.Error(err)
		}
	}
	if len(queries) < 6 {
		t.Errorf("there are only %d queries", len(queries))
	}
}

func TestPrometheusReadsTheAlertsAndScrapesEveryHostOfTheComposeFile(t *testing.T) {
	var p struct {
		Global struct {
			ScrapeInterval string `yaml:"scrape_interval"`
		}
		RuleFiles     []string `yaml:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string                       `yaml:"job_name"`
			StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "prometheus/prometheus.yaml", &p)
	if _, err := time.ParseDuration(p.Global.ScrapeInterval); err != nil {
		t.Error(err)
	}
	if !slices.Contains(p.RuleFiles, "alerts.yaml") {
		t.Errorf("the rules are %v", p.RuleFiles)
	}
	if len(p.ScrapeConfigs) != 1 || p.ScrapeConfigs[0].JobName != "signalbox" {
		t.Fatalf("the alerts are about the job signalbox, and there are %+v", p.ScrapeConfigs)
	}
	var want []string
	for _, h := range composeHosts(t) {
		want = append(want, h.name+":7422")
	}
	if got := p.ScrapeConfigs[0].StaticConfigs[0].Targets; !slices.Equal(got, want) {
		t.Errorf("it scrapes %v, and the hosts are %v", got, want)
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
