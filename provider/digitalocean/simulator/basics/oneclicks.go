package basics

import "github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"

// oneClicks are the 1-Click applications by where they install.
var oneClicks = map[string][]string{
	"droplet": {
		"docker-20-04", "wordpress-20-04", "lamp-20-04", "lemp-22-04", "nodejs-20-04", "mongodb-20-04", "mysql-20-04",
		"gitea-20-04", "grafana-18-04", "jenkins-20-04", "nextcloud-20-04", "openlitespeed-20-04",
	},
	"kubernetes": {
		"monitoring", "ingress-nginx", "cert-manager", "metrics-server", "loki", "argocd", "traefik", "velero",
	},
}

func listOneClicks(c *core.Call) (core.Answer, error) {
	wanted := c.Query("type")
	if _, known := oneClicks[wanted]; wanted != "" && !known {
		return core.Answer{}, core.BadRequest("type must be droplet or kubernetes")
	}
	views := []core.Map{}
	for _, kind := range []string{"droplet", "kubernetes"} {
		if wanted != "" && wanted != kind {
			continue
		}
		for _, slug := range oneClicks[kind] {
			views = append(views, core.Map{"slug": slug, "type": kind})
		}
	}
	return core.OK(core.Map{"1_clicks": views})
}
