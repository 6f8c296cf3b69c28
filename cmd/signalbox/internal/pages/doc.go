// Package pages reads the admin pages of hosts: their status, and their metrics in the text form of Prometheus.
package pages
