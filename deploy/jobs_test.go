package deploy_test

import (
	"os"
	"regexp"
	"testing"
)

var askedJob = regexp.MustCompile(`job=\\?"([a-z]+)\\?"`)

// TestTheJobThatAlertsAskForIsTheOneThatIsScraped: with a different job name, alerts about the process never fire.
func TestTheJobThatAlertsAskForIsTheOneThatIsScraped(t *testing.T) {
	var jobs []string
	for _, path := range []string{"prometheus/prometheus.yaml", "prometheus/kubernetes.yaml"} {
		var file struct {
			Scrapes []struct {
				Job string `yaml:"job_name"`
			} `yaml:"scrape_configs"`
		}
		readYAML(t, path, &file)
		if len(file.Scrapes) != 1 {
			t.Fatalf("%s has %d scrapes", path, len(file.Scrapes))
		}
		jobs = append(jobs, file.Scrapes[0].Job)
	}
	for _, path := range []string{"prometheus/alerts.yaml", "grafana/signalbox.json"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		asked := askedJob.FindAllSubmatch(text, -1)
		if len(asked) == 0 {
			t.Errorf("%s asks for no job", path)
		}
		for _, m := range asked {
			for _, job := range jobs {
				if string(m[1]) != job {
					t.Errorf("%s asks for the job %s, and %s is scraped", path, m[1], job)
				}
			}
		}
	}
}
